"""MarianMT, the format of the OPUS-MT models: a folder of the transformers library <-> a translator.

Marian starts a translation with its padding token. Regard has a begin token instead: it takes over the row of Marian's
padding, and Regard's padding gets a new row that is never predicted. Ids are therefore remapped on import and on
export, and no other part of the package needs to know about it.
"""

from regard.interchange.marian.translator import MODEL_TYPE, read, write

__all__ = ["MODEL_TYPE", "read", "write"]
