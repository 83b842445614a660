"""Names that people type from habit, from other toolkits or from earlier versions, and what they are called here."""

CHOSEN_SETTINGS = frozenset(
    {"data.vocab_size", "model.dim", "model.layers", "model.heads", "model.ffn", "model.dropout"}
    | {"train.batch_tokens", "train.learning_rate", "train.warmup", "train.guided_alignment"}
    | {"train.validate_every", "train.save_every"}
)
"""Settings that training chooses from the corpus, the machine and the time, if they are unset."""
SETTING_ALIASES = {
    "data.dev": "val valid validation valid_data eval_data",
    "data.joint_vocab": "share_vocab shared_vocab joined_dictionary joint_dictionary",
    "data.max_length": "max_len max_seq_len max_seq_length max_sequence_length max_source_length block_size ctx_len",
    "data.source": "src src_lang source_lang source_language",
    "data.both_directions": "bidirectional two_way",
    "data.curriculum_epochs": "curriculum curriculum_learning sortagrad sort_by_length",
    "data.subword_regularization": "bpe_dropout sentencepiece_alphas subword_alpha",
    "data.target": "tgt trg tgt_lang trg_lang target_lang target_language",
    "data.vocab_size": "vocabulary vocab n_vocab num_tokens bpe_tokens vocabulary_size dim_vocabs num_merges",
    "model.activation": "activation_fn activation_function hidden_act act_fn nonlinearity transformer_ffn_activation",
    "model.activation_dropout": "relu_dropout ffn_dropout transformer_dropout_ffn",
    "model.attention_dropout": "attn_dropout attn_pdrop attention_probs_dropout_prob transformer_dropout_attention",
    "model.decoder_layers": "num_decoder_layers n_decoder_layers dec_layers dec_depth decoder_depth",
    "model.dim": "d_model hidden_size hidden_dim embed_dim embedding_dim n_embd model_dim emb_size emb_dim dim_emb "
    "rnn_size width d_hidden",
    "model.dropout": "dropout_rate hidden_dropout hidden_dropout_prob resid_pdrop embd_pdrop p_dropout",
    "model.encoder_layers": "num_encoder_layers n_encoder_layers enc_layers enc_depth encoder_depth",
    "model.ffn": "d_ff ff_dim ffn_dim ff_size ffn_hidden ffn_embed_dim dim_feedforward intermediate_size "
    "transformer_ff n_inner transformer_dim_ffn mlp_dim",
    "model.heads": "nhead n_head n_heads num_heads num_attention_heads attention_heads transformer_heads",
    "model.layers": "n_layer n_layers num_layers num_hidden_layers depth num_blocks",
    "model.norm_epsilon": "layer_norm_eps layer_norm_epsilon layernorm_epsilon norm_eps rms_norm_eps",
    "model.norm_kind": "norm_type normalization layer_norm",
    "model.positions.base": "rope_theta rotary_base rope_base",
    "model.positions.buckets": "relative_attention_num_buckets rel_pos_buckets num_buckets",
    "model.positions.kind": "position_encoding positional_encoding pos_encoding pos_enc position_embedding "
    "position_embedding_type position_embeddings rope rotary alibi sinusoidal t5_bias relative_positions",
    "model.positions.length": "max_position_embeddings n_positions max_positions",
    "model.positions.max_distance": "farthest relative_attention_max_distance",
    "model.positions.max_relative": "max_relative_positions max_relative_position",
    "model.positions.partial_rotary_factor": "rotary_pct rotary_percentage",
    "model.positions.rotary_layout": "rotary_interleave",
    "model.positions.sinusoid_layout": "waves",
    "model.init": "initialization weight_init initializer",
    "model.embedding_std": "initializer_range init_std",
    "model.qk_norm": "qk_layernorm use_qk_norm qknorm query_key_norm",
    "model.scale_embeddings": "scale_words scale_embedding",
    "model.tie_embeddings": "tied tied_embeddings tie_word_embeddings share_embeddings share_all_embeddings "
    "weight_tying",
    "train.accumulate_batches": "accum_count update_freq gradient_accumulation gradient_accumulation_steps "
    "grad_accum accumulate_grad_batches optimizer_delay",
    "train.average_checkpoints": "avg_checkpoints checkpoint_averaging",
    "train.batch_growth": "mini_batch_warmup batch_size_schedule rampup_batch_size dynamic_batch_size",
    "train.batch_tokens": "batch_size max_tokens tokens_per_batch per_device_train_batch_size mini_batch batch",
    "train.betas": "beta1 beta2 adam_beta1 adam_beta2 adam_betas",
    "train.clip_grad_norm": "grad_clip clip_norm max_grad_norm gradient_clip_val gradient_clipping clip_gradients",
    "train.decay": "decay_fraction decay_ratio cooldown cooldown_fraction num_decay_steps",
    "train.decay_shape": "decay_type",
    "train.device": "gpu gpus cuda use_cuda use_gpu accelerator",
    "train.ema": "ema_decay exponential_smoothing average_decay",
    "train.epochs": "max_epochs max_epoch num_epochs n_epochs num_train_epochs after_epochs",
    "train.epsilon": "eps adam_eps adam_epsilon",
    "train.guided_alignment": "guided_alignment_cost guided_alignment_weight lambda_align",
    "train.head_stats_every": "look_every",
    "train.init_from": "train_from init_checkpoint pretrained_model pretrained load_model restore_file from_pretrained",
    "train.label_smoothing": "label_smooth label_smoothing_factor smoothing",
    "train.learning_rate": "lr learn_rate base_lr max_lr peak_lr learningrate",
    "train.metric": "metric_for_best_model early_stopping_metric best_checkpoint_metric",
    "train.muon_learning_rate": "muon_rate muon_lr",
    "train.optimizer": "optim optimiser",
    "train.padding_free": "packed packing unpadded",
    "train.patience": "early_stopping early_stop early_stopping_patience",
    "train.precision": "fp16 bf16 amp dtype mixed_precision torch_dtype",
    "train.rdrop": "r_drop rdrop_alpha reg_alpha",
    "train.save_every": "save_steps save_interval save_freq save_checkpoint_steps checkpoint_interval save_strategy",
    "train.schedule": "lr_scheduler lr_scheduler_type lr_schedule scheduler scheduling decay_method lr_decay",
    "train.seed": "random_seed rng_seed",
    "train.shard": "fsdp sharding zero",
    "train.steps": "max_steps num_steps train_steps training_steps max_update max_updates num_train_steps iterations "
    "max_iters after_batches updates",
    "train.threads": "num_threads n_threads cpu_threads num_workers",
    "train.tokens": "max_train_tokens num_train_tokens",
    "train.track": "tracker trackers logger report_to wandb tensorboard tensorboard_dir use_tensorboard",
    "train.track_histograms": "histograms log_histograms",
    "train.validate_every": "check_every eval_steps eval_every eval_interval validation_freq valid_steps valid_freq "
    "val_check_interval",
    "train.validation_sentences": "check_sentences eval_sentences",
    "train.warmup": "warmup_steps warmup_updates num_warmup_steps warmup_iters learning_rate_warmup lr_warmup",
    "train.weight_decay": "wd l2",
}
"""The names of each setting elsewhere. A name that a group has of its own comes before these."""

GROUP_ALIASES = {
    "data.concatenate": "data.concat_augment",
    "data.joint": "data.joint_vocab",
    "data.sampling": "data.subword_regularization",
    "model.positions.clip": "model.positions.max_relative",
    "model.positions.layout": "model.positions.rotary_layout",
    "model.positions.share": "model.positions.partial_rotary_factor",
    "model.tie": "model.tie_embeddings",
    "train.accumulate": "train.accumulate_batches",
    "train.average": "train.average_checkpoints",
    "train.clip": "train.clip_grad_norm",
    "train.guide": "train.guided_alignment",
    "train.origin": "train.init_from",
    "train.path": "train.padding_free",
    "train.rate": "train.learning_rate",
}
"""Names that stand for this setting in their own group alone."""

VALUE_ALIASES = {
    "model.activation": {"glu": "swiglu", "silu_glu": "swiglu", "swish": "silu", "gelu_new": "gelu-tanh"},
    "model.norm": {"pre-norm": "pre", "prenorm": "pre", "post-norm": "post", "postnorm": "post"},
    "model.norm_kind": {"layernorm": "layer", "layer_norm": "layer", "rmsnorm": "rms", "rms_norm": "rms"},
    "model.positions.kind": {
        "rope": "rotary",
        "rotary_emb": "rotary",
        "sin": "sinusoidal",
        "sincos": "sinusoidal",
        "absolute": "learned",
        "shaw": "relative",
        "nope": "none",
        "concat": "concatenated",
    },
    "train.decay_shape": {"sqrt": "1-sqrt"},
    "train.muon_polynomials": {"polar_express": "polar-express", "quintic": "jordan"},
    "train.optimizer": {"adam": "adamw"},
    "train.padding_free": {"packed": "true", "plain": "false"},
    "train.precision": {"bf16": "bfloat16", "fp32": "float32", "fp64": "float64"},
    "train.schedule": {
        "noam": "inverse-sqrt",
        "inverse_sqrt": "inverse-sqrt",
        "inv_sqrt": "inverse-sqrt",
        "warmup_stable_decay": "wsd",
        "constant_then_decay": "wsd",
        "trapezoidal": "wsd",
        "cooldown": "wsd",
    },
    "train.track": {"tb": "tensorboard", "tensorboardx": "tensorboard"},
}
"""Values of settings by other names."""

POSITIONS = "model.positions"
WITHOUT_GROUP = {name.rpartition(".")[2]: setting for name, setting in GROUP_ALIASES.items()}
SETTING_OF = {word: setting for setting, words in SETTING_ALIASES.items() for word in words.split()}


def find_setting(name: str) -> str | None:
    """The setting that a name from elsewhere stands for, in the group it was typed in or in another one."""
    group, _, word = name.lower().replace("-", "_").rpartition(".")
    in_group = GROUP_ALIASES.get(f"{_shared_group(group)}.{word}") if group else WITHOUT_GROUP.get(word)
    setting = in_group or SETTING_OF.get(word)
    if setting and _shared_group(group) == setting.rpartition(".")[0] == POSITIONS:
        return f"{group if group.startswith('model.') else POSITIONS}.{setting.rpartition('.')[2]}"
    return setting


def find_value(setting: str, value: object) -> str | None:
    """The value that a word from elsewhere stands for."""
    group, _, word = setting.rpartition(".")
    return VALUE_ALIASES.get(f"{_shared_group(group)}.{word}", {}).get(str(value).lower())


def _shared_group(group: str) -> str:
    """One group for the positions of the model, of its encoder and of its decoder."""
    return POSITIONS if group.endswith("positions") else group
