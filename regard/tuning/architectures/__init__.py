"""One job by an encoder, a decoder and both, with equally many weights and equal time: which is ahead."""
