"""Other toolkits, each in a virtual environment of its own, run as their users run them.

    python benchmarks/peers.py [NAME …]     installs them

The environments stand in benchmarks/.peers, or where REGARD_PEERS says.
"""

import os
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from material import BATCH, Material, Size

HERE = Path(__file__).parent
VENVS = Path(os.environ.get("REGARD_PEERS", HERE / ".peers"))
TORCH = f"torch=={version('torch').partition('+')[0]}"  # the same as ours
Count = Callable[[str], int | None]
"""A line that a toolkit prints -> the target tokens of the step it tells of."""


@dataclass(frozen=True)
class Peer:
    """A toolkit: what to install, what to start, and what its log says."""

    name: str
    environment: str
    packages: tuple[tuple[str, ...], ...]
    command: Callable[["Peer", Material, Size, Path], list[str]]
    count: Count
    package: str = "regard"
    variables: tuple[tuple[str, str], ...] = ()

    @property
    def python(self) -> Path:
        return VENVS / self.environment / "bin" / "python"

    @property
    def installed(self) -> bool:
        return (VENVS / self.environment / ".ok").exists()


def install(peer: Peer) -> None:
    """Make the environment, with the same torch as ours."""
    place = VENVS / peer.environment
    subprocess.run([sys.executable, "-m", "venv", str(place)], check=True)
    for packages in ((TORCH, "numpy"), *peer.packages):
        pip = [str(peer.python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, *packages], check=True)
    (place / ".ok").touch()


def _loop(script: str) -> Callable[[Peer, Material, Size, Path], list[str]]:
    def command(peer: Peer, material: Material, size: Size, scratch: Path) -> list[str]:
        shape = [str(x) for x in (size.layers, size.dim, size.heads, size.ffn, BATCH)]
        return [str(peer.python), str(HERE / "loops" / script), str(material.folder), *shape]

    return command


def _printed(line: str) -> int | None:
    """What our own loops print."""
    found = re.match(r"tokens (\d+)", line)
    return int(found[1]) if found else None


def _opennmt(peer: Peer, material: Material, size: Size, scratch: Path) -> list[str]:
    config = f"""
data: {{corpus: {{path_src: {material.lines("train", "source")}, path_tgt: {material.lines("train", "target")}}}}}
src_vocab: {material.vocabulary}
tgt_vocab: {material.vocabulary}
share_vocab: true
save_model: {scratch}/model
encoder_type: transformer
decoder_type: transformer
layers: {size.layers}
heads: {size.heads}
hidden_size: {size.dim}
word_vec_size: {size.dim}
transformer_ff: {size.ffn}
share_embeddings: true
share_decoder_embeddings: true
position_encoding: true
dropout: [0.1]
attention_dropout: [0.0]
label_smoothing: 0.1
optim: adam
learning_rate: 2.0
decay_method: noam
warmup_steps: 1000
max_grad_norm: 1.0
batch_type: tokens
normalization: tokens
batch_size: {BATCH}
bucket_size: 29000
num_workers: 0
train_steps: 1000000
valid_steps: 1000000
save_checkpoint_steps: 1000000
report_every: 1
seed: 1
"""
    path = scratch / "opennmt.yaml"
    path.write_text(config, encoding="utf-8")
    return [str(peer.python), "-m", "onmt.bin.train", "-config", str(path)]


def _eole(peer: Peer, material: Material, size: Size, scratch: Path) -> list[str]:
    config = f"""
data: {{corpus: {{path_src: {material.lines("train", "source")}, path_tgt: {material.lines("train", "target")}}}}}
src_vocab: {material.vocabulary}
tgt_vocab: {material.vocabulary}
share_vocab: true
transforms: []
save_data: {scratch}/data
overwrite: true
report_every: 1
seed: 1
training:
  model_path: {scratch}/model
  world_size: 0
  gpu_ranks: []
  batch_type: tokens
  batch_size: {BATCH}
  normalization: tokens
  bucket_size: 29000
  num_workers: 0
  optim: adam
  learning_rate: 2.0
  decay_method: noam
  warmup_steps: 1000
  max_grad_norm: 1.0
  label_smoothing: 0.1
  dropout: [0.1]
  dropout_steps: [0]
  attention_dropout: [0.0]
  compute_dtype: fp32
  train_steps: 1000000
  valid_steps: 1000000
  save_checkpoint_steps: 1000000
model:
  architecture: transformer
  layers: {size.layers}
  heads: {size.heads}
  hidden_size: {size.dim}
  transformer_ff: {size.ffn}
  share_embeddings: true
  share_decoder_embeddings: true
  embeddings: {{word_vec_size: {size.dim}, position_encoding_type: SinusoidalInterleaved}}
"""
    path = scratch / "eole.yaml"
    path.write_text(config, encoding="utf-8")
    return [str(peer.python.parent / "eole"), "train", "-config", str(path)]


def _reported(line: str) -> int | None:
    """Of OpenNMT-py and its heir: … bsz: 3500/3300/45; …, source and target tokens of a batch."""
    found = re.search(r"Step +\d+.*bsz: +(\d+)/ *(\d+)/", line)
    return int(found[2]) if found else None


def _joeynmt(peer: Peer, material: Material, size: Size, scratch: Path) -> list[str]:
    for side in ("source", "target"):  # it wants language codes at the end of names
        for name in ("train", "dev"):
            (scratch / f"{name}.{side}").symlink_to(material.lines(name, side))
    vocabulary = ["<unk>", "<pad>", "<s>", "</s>", *material.vocabulary.read_text(encoding="utf-8").split()]
    (scratch / "vocabulary.txt").write_text("".join(f"{word}\n" for word in vocabulary), encoding="utf-8")
    side = f"""{{level: word, lowercase: false, voc_file: {scratch}/vocabulary.txt, max_length: 256}}"""
    stack = f"""
        type: transformer
        num_layers: {size.layers}
        num_heads: {size.heads}
        embeddings: {{embedding_dim: {size.dim}, scale: true, dropout: 0.1}}
        hidden_size: {size.dim}
        ff_size: {size.ffn}
        dropout: 0.1
        layer_norm: pre"""
    config = f"""
name: bench
joeynmt_version: 2.3.0
model_dir: {scratch}/joey
use_cuda: false
fp16: false
random_seed: 1
data:
    train: {scratch}/train
    dev: {scratch}/dev
    dataset_type: plain
    src: {{lang: source, {side[1:]}
    trg: {{lang: target, {side[1:]}
training:
    optimizer: adamw
    learning_rate: 0.001
    learning_rate_warmup: 1000
    scheduling: warmupinversesquareroot
    clip_grad_norm: 1.0
    batch_size: {BATCH}
    batch_type: token
    normalization: tokens
    label_smoothing: 0.1
    loss: crossentropy
    epochs: 1000
    updates: 1000000
    validation_freq: 1000000
    logging_freq: 1
    overwrite: true
testing: {{beam_size: 1}}
model:
    initializer: xavier_uniform
    tied_embeddings: true
    tied_softmax: true
    encoder:{stack}
    decoder:{stack}
"""
    path = scratch / "joey.yaml"
    path.write_text(config, encoding="utf-8")
    return [str(peer.python), str(HERE / "loops" / "joey.py"), str(path)]


def _regard(peer: Peer, material: Material, size: Size, scratch: Path) -> list[str]:
    return [sys.executable, str(HERE / "loops" / "ours.py"), str(material.folder), str(scratch), *size.settings()]


HF = (("transformers==5.22.2", "sentencepiece"),)
ONMT = (
    ("--no-deps", "OpenNMT-py==3.5.1"),  # which asks for a torch of 2023
    ("configargparse", "ctranslate2", "tensorboard", "flask", "waitress", "pyonmttok", "pyyaml", "sacrebleu"),
    ("rapidfuzz", "pyahocorasick", "fasttext-wheel", "spacy", "six", "setuptools"),
)
PEERS = {
    peer.name: peer
    for peer in (
        Peer("Regard", "", (), _regard, _printed),
        Peer("OpenNMT-py", "opennmt", ONMT, _opennmt, _reported, "OpenNMT-py"),
        Peer("Eole", "eole", (("eole==0.6.4", "aiohttp", TORCH),), _eole, _reported, "eole"),
        Peer("JoeyNMT", "joeynmt", (("joeynmt==2.3.0", "importlib_metadata", TORCH),), _joeynmt, _printed, "joeynmt"),
        Peer("Marian (transformers), our batches", "hf", HF, _loop("marian.py"), _printed, "transformers"),
        Peer("nn.Transformer, random batches", "hf", HF, _loop("nn_transformer.py"), _printed, "torch"),
    )
}


def versions(names: Sequence[str]) -> list[str]:
    """What is installed of each, and the torch below it."""
    script = "from importlib.metadata import version as v; import sys; print(*(v(name) for name in sys.argv[1:]))"
    found = []
    for peer in (PEERS[name] for name in names if PEERS[name].environment):
        asked = [str(peer.python), "-c", script, peer.package, "torch"]
        versions = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.split()
        found.append(f"{peer.name}: {peer.package} {versions[0]}, torch {versions[1]}")
    return found


def main() -> None:
    wanted = sys.argv[1:] or [peer.environment for peer in PEERS.values() if peer.environment]
    for peer in PEERS.values():
        if peer.environment in wanted and not peer.installed:
            print(f"installing {peer.name}", flush=True)
            install(peer)


if __name__ == "__main__":
    main()
