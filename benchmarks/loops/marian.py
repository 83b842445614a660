"""The Marian of transformers with batches like ours, telling each step: MATERIAL LAYERS DIM HEADS FFN BATCH"""

import sys
from pathlib import Path

import torch
from token_files import BOS, EOS, PAD, like_lengths, load, padded
from torch import nn
from transformers import MarianConfig, MarianMTModel


def main() -> None:
    layers, dim, heads, ffn, tokens = (int(word) for word in sys.argv[2:7])
    torch.manual_seed(1)
    pairs, size = load(Path(sys.argv[1]))
    config = MarianConfig(
        vocab_size=size,
        d_model=dim,
        encoder_layers=layers,
        decoder_layers=layers,
        encoder_attention_heads=heads,
        decoder_attention_heads=heads,
        encoder_ffn_dim=ffn,
        decoder_ffn_dim=ffn,
        activation_function="relu",
        dropout=0.1,
        attention_dropout=0.0,
        scale_embedding=True,
        max_position_embeddings=512,
        pad_token_id=PAD,
        eos_token_id=EOS,
        forced_eos_token_id=EOS,
        decoder_start_token_id=BOS,
    )
    model = MarianMTModel(config).train()
    loss = nn.CrossEntropyLoss(ignore_index=PAD, label_smoothing=0.1)
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-4, betas=(0.9, 0.98), fused=True)
    for batch in like_lengths(pairs, tokens):
        source, into, out = padded(batch)
        optimizer.zero_grad()
        logits = model(input_ids=source, attention_mask=source != PAD, decoder_input_ids=into, use_cache=False).logits
        loss(logits.flatten(0, 1), out.flatten()).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        print("tokens", int((out != PAD).sum()), flush=True)


if __name__ == "__main__":
    main()
