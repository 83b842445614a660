"""A BERT folder as small as it can be, made without the transformers library."""

import json
from pathlib import Path

V = 280  # tokens: the fewest that are allowed
WINDOW = 14
"""Tokens of a text that the encoder reads, besides [CLS] and [SEP]."""


def write_bert(folder: Path) -> None:
    """A BERT folder with random weights."""
    import tokenizers
    import torch

    from regard.interchange import bert
    from regard.model import weights

    folder.mkdir()
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "dog", *map(chr, range(97, 123))]
    tokenizers.BertWordPieceTokenizer({word: i for i, word in enumerate(words)}).save(str(folder / "tokenizer.json"))
    (folder / "vocab.txt").write_text("\n".join(words) + "\n", encoding="utf-8")
    d = 8
    config = {"model_type": "bert", "vocab_size": V, "hidden_size": d, "num_hidden_layers": 1, "num_attention_heads": 2}
    config |= {"intermediate_size": d, "max_position_embeddings": 16, "type_vocab_size": 2, "hidden_act": "gelu"}
    (folder / "config.json").write_text(json.dumps(config, indent=1))
    (folder / "modules.json").write_text(json.dumps([{"type": "a.Transformer"}, {"type": "a.Pooling", "path": "p"}]))
    rows = {"word_embeddings": V, "position_embeddings": 16, "token_type_embeddings": 2}
    tensors, generator = {}, torch.Generator().manual_seed(11)
    for _, name in bert.weight_names(1, False):
        first = next((count for part, count in rows.items() if part in name), d)
        shape = (d,) if "LayerNorm" in name or name.endswith("bias") else (first, d)
        tensors[name] = torch.randn(shape, generator=generator)
    weights.write(tensors, folder / "model.safetensors")
