"""transformers' `generate`, asked on standard input: FOLDER THREADS, then lines of JSON {texts, beam, batch}."""

import json
import sys

import torch
from transformers import MarianMTModel, MarianTokenizer, logging


def main() -> None:
    logging.set_verbosity_error()  # it tells of max_new_tokens with every batch
    folder = sys.argv[1]
    torch.set_num_threads(int(sys.argv[2]))
    model, tokenizer = MarianMTModel.from_pretrained(folder).eval(), MarianTokenizer.from_pretrained(folder)
    print("ready", flush=True)
    for line in sys.stdin:
        asked = json.loads(line)
        texts = asked["texts"]
        order = sorted(range(len(texts)), key=lambda i: -len(texts[i].split()))
        said = [""] * len(texts)
        with torch.inference_mode():
            for start in range(0, len(order), asked["batch"]):
                rows = order[start : start + asked["batch"]]
                batch = tokenizer([texts[i] for i in rows], return_tensors="pt", padding=True)
                longest = 2 * batch["input_ids"].shape[1] + 16  # as our own search has it
                found = model.generate(**batch, num_beams=asked["beam"], do_sample=False, max_new_tokens=longest)
                for i, text in zip(rows, tokenizer.batch_decode(found, skip_special_tokens=True), strict=True):
                    said[i] = text
        print(json.dumps(said), flush=True)


if __name__ == "__main__":
    main()
