"""Pair -> Batch: where strings meet ids."""
