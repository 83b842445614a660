"""Tasks on tensors of ids with one right answer, for models that learn in seconds.

A task is a function of its sizes that draws a batch from torch's generator; 0 is free for padding.
"""

from regard.data.toy_tasks.places import which_part as which_part
from regard.data.toy_tasks.retrieval import marked_symbols as marked_symbols
from regard.data.toy_tasks.retrieval import n_back as n_back
from regard.data.toy_tasks.sentiment import SentimentWords as SentimentWords
from regard.data.toy_tasks.sentiment import charged_words as charged_words
from regard.data.toy_tasks.topics import TopicWords as TopicWords
from regard.data.toy_tasks.topics import mask_tokens as mask_tokens
from regard.data.toy_tasks.topics import pseudowords as pseudowords
from regard.data.toy_tasks.topics import shuffle_between_texts as shuffle_between_texts
from regard.data.toy_tasks.topics import topic_texts as topic_texts
from regard.data.toy_tasks.toy_batch import IGNORED as IGNORED
from regard.data.toy_tasks.toy_batch import ToyBatch as ToyBatch
