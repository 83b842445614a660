"""A Marian folder <-> a translator: settings, vocabularies, SentencePiece models and weights together."""

from pathlib import Path

from regard.data.tokenizers.remapped_sentencepiece import RemappedSentencePiece
from regard.data.tokenizers.tokenizer import Tokenizers
from regard.errors import ConfigError, DataError, FormatError
from regard.interchange.folder import CONFIG, SAFETENSORS, ModelFolder, write_json
from regard.interchange.marian import config as marian_settings
from regard.interchange.marian import tensors as marian_tensors
from regard.interchange.marian.vocabulary import MarianVocabulary, from_tokenizer, read_vocabulary, write_vocabulary
from regard.interchange.trained import TrainedTranslator
from regard.model import weights

MODEL_TYPE = marian_settings.MODEL_TYPE
VOCAB, TARGET_VOCAB = "vocab.json", "target_vocab.json"
SOURCE_SPM, TARGET_SPM = "source.spm", "target.spm"


def read(folder: ModelFolder) -> TrainedTranslator:
    """The translator of a Marian folder."""
    marian_config = marian_settings.DEFAULTS | folder.config
    folder.require_supported(list(marian_settings.unsupported_settings(folder, marian_config)))
    source = read_vocabulary(folder, VOCAB, folder.get_count("vocab_size"))
    target = source
    if not marian_config["share_encoder_decoder_embeddings"]:
        target = read_vocabulary(folder, TARGET_VOCAB, folder.get_count("decoder_vocab_size"))
    _require_special_ids(folder, target)
    source_tokens = source.regard_tokens
    tokenizers = Tokenizers(
        _load_tokenizer(folder, SOURCE_SPM, source_tokens),
        _load_tokenizer(folder, TARGET_SPM, source_tokens if target is source else target.regard_tokens),
    )
    return TrainedTranslator(
        marian_settings.read_config(folder, marian_config, tokenizers),
        marian_tensors.read_tensors(folder, marian_settings.read_layer_counts(folder), source, target),
        tokenizers,
    )


def write(trained: TrainedTranslator, out: Path) -> None:
    """Fill a folder, or raise with the reasons why the format cannot express this model."""
    config, tokenizers = trained.config, trained.tokenizers
    if reasons := list(marian_settings.unsupported_features(config.model)):
        raise ConfigError(f"Marian's format cannot express this run: {'; '.join(reasons)}")
    joint = tokenizers.joint
    (out / SOURCE_SPM).write_bytes(tokenizers.source.model)
    (out / TARGET_SPM).write_bytes(tokenizers.target.model)
    source = target = from_tokenizer(tokenizers.source, joint)
    write_vocabulary(source, out / VOCAB)
    if not joint:
        target = from_tokenizer(tokenizers.target, joint)
        write_vocabulary(target, out / TARGET_VOCAB)
    for name, values in marian_settings.config_files(config, source, target, joint).items():
        write_json(out / name, values)
    layer_counts = marian_settings.layer_counts(config.model)
    weights.write(marian_tensors.convert_tensors(trained.tensors, layer_counts, source, target), out / SAFETENSORS)


def _load_tokenizer(folder: ModelFolder, file: str, tokens: tuple[str, ...]) -> RemappedSentencePiece:
    try:
        return RemappedSentencePiece(folder.read_bytes(file), tokens)
    except DataError as error:
        raise FormatError(f"{folder.path / file}: {error}") from None


def _require_special_ids(folder: ModelFolder, target: MarianVocabulary) -> None:
    """The ids of special tokens stand in two files, which must agree."""
    for name, vocabulary_id in (("pad_token_id", target.pad), ("eos_token_id", target.eos)):
        if folder.get(name) != vocabulary_id:
            raise FormatError(
                f"{folder.path / CONFIG}: {name} is {folder.get(name)}, but its token has the id {vocabulary_id} in "
                f"the vocabulary; the folder mixes files of two models"
            )
