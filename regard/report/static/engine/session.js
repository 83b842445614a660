// What a page asks of a model.

import { buildModel } from "./build.js";
import { readContainer } from "./container.js";
import { beamSearch, greedySearch, runToEnd } from "./search.js";
import { Limits } from "./limits.js";
import { ModelStepper, PromptStepper } from "./stepper.js";
import { SentencePiece } from "./sentencepiece.js";
import { Weights } from "./weights.js";
