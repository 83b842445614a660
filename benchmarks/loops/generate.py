"""transformers' `generate`, asked on standard input: FOLDER THREADS, then lines of JSON {texts, beam, batch}."""

import json
import sys
import time

import torch
from transformers import MarianMTModel, MarianTokenizer


def main() -> None:
    folder = sys.argv[1]
    torch.set_num_threads(int(sys.argv[2]))
    model, tokenizer = MarianMTModel.from_pretrained(folder).eval(), MarianTokenizer.from_pretrained(folder)
    print("ready", flush=True)
    for line in sys.stdin:
        asked = json.loads(line)
        texts = sorted(asked["texts"], key=lambda text: -len(text.split()))
        start, tokens = time.perf_counter(), 0
        with torch.inference_mode():
            for i in range(0, len(texts), asked["batch"]):
                batch = tokenizer(texts[i : i + asked["batch"]], return_tensors="pt", padding=True)
                found = model.generate(**batch, num_beams=asked["beam"], do_sample=False, max_new_tokens=64)
                tokens += int((found[:, 1:] != model.config.pad_token_id).sum())
                tokenizer.batch_decode(found, skip_special_tokens=True)
        print(json.dumps({"seconds": time.perf_counter() - start, "tokens": tokens}), flush=True)


if __name__ == "__main__":
    main()
