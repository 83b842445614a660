"""How fast the engine of a page is in Chromium, with SIMD and without, beside onnxruntime-web on the same products.

    python benchmarks/page_engine.py [--rounds 5] [--scratch FOLDER]

Two measurements, everything interleaved in one page: greedy decoding by the whole engine, in milliseconds a token; and
the products of one decoder step alone (the same chain of matrices), by our kernels and by onnxruntime-web with one
thread, which npm installs into a scratch folder.
"""

import argparse
import functools
import http.server
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import torch
from environment import described, write
from playwright.sync_api import sync_playwright

sys.path.insert(0, str(Path(__file__).parent.parent))
from regard.config import ModelConfig
from regard.data.tokenizers.tokenizer import PAD
from regard.interchange.page import pack_model
from regard.kernels.int8 import quantize
from regard.model.build import build
from regard.model.modules import count_parameters
from regard.report.look.bundle import bundle_script, static_resource

PACKAGE = "onnxruntime-web@1.22.0"
V, SOURCE, TOKENS = 8000, 20, 24
SHAPES = {1: (64, 4, 2), 2: (112, 3, 4), 5: (184, 4, 4), 8: (240, 4, 4)}  # millions: model.dim, layers, heads
FLOAT, UINT8, INT8, INT32 = 1, 2, 3, 6  # types of ONNX

PAGE = """<!DOCTYPE html><meta charset="utf-8"><script src="ort/ort.wasm.min.js"></script><script>
{engine}
const bytes = async (name) => new Uint8Array(await (await fetch(name)).arrayBuffer());
const chainOf = (weights, names, input) => () => {{
  let x = {{ shape: [1, input.length], data: input }};
  for (const name of names) x = weights.multiply(x, weights.find(name), null);
  return x.data[0];
}};
async function prepare(size, names, dim) {{
  const run = {{}};
  const input = Float32Array.from({{ length: dim }}, (_, i) => Math.sin(i + 1));
  for (const precision of ["int8", "none"])
    for (const simd of [true, false]) {{
      const container = module_container.readContainer(await bytes(`${{size}}.${{precision}}.bin`));
      const weights = new module_weights.Weights(container, simd);
      const label = `${{precision}} ${{simd ? "SIMD" : "plain"}}`;
      run[`products ${{label}}`] = chainOf(weights, names, input);
      const model = module_build.buildModel(weights);
      const source = [...Array.from({{ length: {source} - 1 }}, (_, i) => 100 + 7 * i), 3];
      run[`token ${{label}}`] = () => {{
        const decoder = new module_transformer.IncrementalDecoder(model, model.encode(source));
        let logits = decoder.prefill([2], 1);
        for (let i = 1; i < {tokens}; i++) {{
          const logp = module_search.logProbabilities(logits, 0);
          logits = decoder.step(module_search.topk(logp, 1));
        }}
      }};
    }}
  ort.env.wasm.numThreads = 1;
  ort.env.wasm.wasmPaths = new URL("ort/", location.href).href;
  for (const precision of ["int8", "none"]) {{
    const file = await bytes(`${{size}}.${{precision}}.onnx`);
    const session = await ort.InferenceSession.create(file, {{ executionProviders: ["wasm"] }});
    const x = new ort.Tensor("float32", input, [1, dim]);
    run[`products ${{precision}} onnxruntime-web`] = async () => (await session.run({{ x }})).y.data[0];
  }}
  return run;
}}
async function measure(size, names, dim, rounds) {{
  const run = await prepare(size, names, dim);
  const times = {{}};
  for (let round = 0; round <= rounds; round++)
    for (const [label, work] of Object.entries(run)) {{
      const repeats = label.startsWith("token") ? 1 : 30;
      const start = performance.now();
      for (let i = 0; i < repeats; i++) await work();
      const each = (performance.now() - start) / (label.startsWith("token") ? {tokens} : repeats);
      if (round) (times[label] ??= []).push(each); // the first one warms up
    }}
  return times;
}}
</script>"""


def message(number: int, content: bytes) -> bytes:
    """A field of a protocol buffer that holds bytes."""
    return varint(number << 3 | 2) + varint(len(content)) + content


def varint(value: int) -> bytes:
    out = b""
    while value > 127:
        out, value = out + bytes([value & 127 | 128]), value >> 7
    return out + bytes([value])


def whole(number: int, value: int) -> bytes:
    """A field that holds an integer."""
    return varint(number << 3) + varint(value)


def initializer(name: str, array: np.ndarray, kind: int) -> bytes:
    dims = b"".join(whole(1, size) for size in array.shape)
    return message(5, dims + whole(2, kind) + message(8, name.encode()) + message(9, array.tobytes()))


def node(operator: str, inputs: Sequence[str], outputs: Sequence[str], attributes: bytes = b"") -> bytes:
    names = [message(1, one.encode()) for one in inputs] + [message(2, one.encode()) for one in outputs]
    return message(1, b"".join(names) + message(4, operator.encode()) + attributes)


def value_info(field: int, name: str, shape: Sequence[int]) -> bytes:
    dims = b"".join(message(1, whole(1, size)) for size in shape)
    return message(field, message(1, name.encode()) + message(2, message(1, whole(1, FLOAT) + message(2, dims))))


def graph_parts(weights: Sequence[torch.Tensor], int8: bool) -> Iterator[bytes]:
    """x times one matrix after the other, as onnxruntime's own tool quantizes them: x dynamically, w by rows."""
    x = "x"
    for i, weight in enumerate(weights):
        y = "y" if i == len(weights) - 1 else f"x{i}"
        if not int8:
            yield initializer(f"w{i}", weight.T.contiguous().numpy(), FLOAT) + node("MatMul", [x, f"w{i}"], [y])
        else:
            integers, scales = quantize(weight)
            yield initializer(f"w{i}", integers.T.contiguous().numpy(), INT8) + initializer(
                f"s{i}", scales.numpy(), FLOAT
            )
            yield node("DynamicQuantizeLinear", [x], [f"q{i}", f"qs{i}", f"qz{i}"])
            yield node("MatMulInteger", [f"q{i}", f"w{i}", f"qz{i}"], [f"p{i}"])
            to_float = message(5, message(1, b"to") + whole(3, FLOAT) + whole(20, 2))
            yield node("Cast", [f"p{i}"], [f"f{i}"], to_float)
            yield node("Mul", [f"qs{i}", f"s{i}"], [f"t{i}"]) + node("Mul", [f"f{i}", f"t{i}"], [y])
        x = y


def onnx_model(weights: Sequence[torch.Tensor], int8: bool) -> bytes:
    ends = value_info(11, "x", (1, weights[0].shape[1])) + value_info(12, "y", (1, len(weights[-1])))
    graph = b"".join(graph_parts(weights, int8)) + message(2, b"chain") + ends
    return whole(1, 8) + message(7, graph) + message(8, whole(2, 17))


def write_models(folder: Path, size: int) -> tuple[int, list[str], int]:
    """The model in both precisions, and the chain of its decoder's matrices: parameters, names, model.dim."""
    dim, layers, heads = SHAPES[size]
    config = ModelConfig(dim=dim, ffn=4 * dim, layers=layers, heads=heads, encoder_layers=layers)
    torch.manual_seed(size)
    model = build(config, V, V, joint=True, pad=PAD).eval()
    parts = ["self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.out_proj", "cross_attn.q_proj"]
    parts += ["cross_attn.out_proj", "feed_forward.up", "feed_forward.down"]
    names = [f"decoder.layers.{i}.{part}.weight" for i in range(layers) for part in parts] + ["output.weight"]
    tensors = dict(model.named_parameters(remove_duplicate=False))
    for precision in ("int8", "none"):
        (folder / f"{size}.{precision}.bin").write_bytes(pack_model(model, config, quantize=precision))
        matrices = [tensors[name].detach() for name in names]
        (folder / f"{size}.{precision}.onnx").write_bytes(onnx_model(matrices, precision == "int8"))
    return count_parameters(model), names, dim


def install(scratch: Path) -> Path:
    """onnxruntime-web in the scratch folder, unless it is there."""
    dist = scratch / "node_modules" / "onnxruntime-web" / "dist"
    if not dist.is_dir():
        command = ["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", str(scratch), PACKAGE]
        subprocess.run(command, check=True, capture_output=True)
    return dist


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *args: object) -> None:
        """Nothing."""


def measure(folder: Path, rounds: int) -> list[str]:
    handler = functools.partial(QuietHandler, directory=str(folder))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    rows = []
    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for size in SHAPES:
            parameters, names, dim = write_models(folder, size)
            page = browser.new_page()
            page.goto(f"http://127.0.0.1:{server.server_port}/index.html")
            call = f"measure({size}, {json.dumps(names)}, {dim}, {rounds})"
            times = {label: statistics.median(one) for label, one in page.evaluate(call).items()}
            rows += format_rows(parameters, times)
            page.close()
        browser.close()
    server.shutdown()
    return rows


def format_rows(parameters: int, times: dict[str, float]) -> list[str]:
    rows = []
    for precision, name in (("int8", "int8"), ("none", "float32")):
        simd, plain = times[f"token {precision} SIMD"], times[f"token {precision} plain"]
        ours, bare = times[f"products {precision} SIMD"], times[f"products {precision} plain"]
        theirs = times[f"products {precision} onnxruntime-web"]
        cells = (simd, plain, ours, bare, theirs)
        numbers = " | ".join(f"{one:.2f}" for one in cells)
        rows.append(f"| {parameters / 1e6:.1f} M | {name} | {numbers} | {theirs / ours:.1f} |")
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--scratch", type=Path, default=Path(tempfile.gettempdir()) / "regard-page-engine")
    options = parser.parse_args()
    dist = install(options.scratch)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        (folder / "ort").symlink_to(dist)
        engine = bundle_script(static_resource("engine"), "session")
        (folder / "index.html").write_text(PAGE.format(engine=engine, source=SOURCE, tokens=TOKENS), encoding="utf-8")
        rows = measure(folder, options.rounds)
    head = [
        *described(),
        "",
        f"Milliseconds, medians of {options.rounds} rounds in which everything takes turns. A token: greedy, source of "
        f"{SOURCE} tokens, {TOKENS} tokens of output, the encoder included. Products: those of one decoder step alone, "
        f"by our kernels and by {PACKAGE} (WebAssembly, one thread). The ratio is its time divided by ours with SIMD.",
        "",
        "| parameters | weights | token, SIMD | token, plain "
        "| products, SIMD | products, plain | onnxruntime-web | ratio |",
        "|---|---|---|---|---|---|---|---|",
    ]
    write("page_engine", [*head, *rows])
    print("\n".join([*head, *rows]))


if __name__ == "__main__":
    main()
