"""Translation in native code: `decoder.cpp`, how it is compiled, and the model that runs in it.

Optional: without a compiler torch does the same. `regard.runtime.native.build` compiles it for this machine.
"""
