"""What came before attention: a recurrent network that reads tokens one after the other."""

from torch import Tensor, nn


class RecurrentModel(nn.Module):
    """An embedding, one recurrent layer of torch, and a projection of its states.

    It is called as the decoder of a Transformer is: ids (B, T) -> states (B, T, D), which `output` projects.
    """

    def __init__(self, vocab_size: int, dim: int, num_labels: int, layer: type[nn.GRU] | type[nn.LSTM] = nn.GRU):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, dim)
        self.layer = layer(dim, dim, batch_first=True)
        self.output = nn.Linear(dim, num_labels)

    def forward(self, ids: Tensor) -> Tensor:
        states: Tensor = self.layer(self.embedding(ids))[0]
        return states
