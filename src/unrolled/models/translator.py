"""The translator: embeddings, encoder, decoder and readout in one module, and the function that builds it.

Letters: B batch, N hypotheses of its sentences, S source length, T target length, E embedding size, C annotation size,
D decoder size, V vocabulary.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from unrolled.errors import UserError
from unrolled.models.attention import Attention
from unrolled.models.decoder import Decoder, Features
from unrolled.models.encoder import BidirectionalGRU, Encoder
from unrolled.models.initialise import initialise
from unrolled.models.known_alignment import given_contexts
from unrolled.models.readout import Readout
from unrolled.models.sentences import Sentences, pick
from unrolled.models.trace import Trace, apart
from unrolled.text.tokens import PAD

Nested = tuple[Any, ...]


class Translator(nn.Module):
    """p(target | source), word by word.

    ``start(batch)`` and ``step(tokens, state)`` serve search; ``forward`` is teacher forcing.
    """

    def __init__(
        self,
        *,
        source_embedding: nn.Embedding,
        target_embedding: nn.Embedding,
        encoder: Encoder,
        decoder: Decoder,
        readout: Readout,
        embedding_dropout: float,
        annotation_dropout: float,
    ) -> None:
        super().__init__()
        self.source_embedding = source_embedding
        self.target_embedding = target_embedding
        self.encoder = encoder
        self.decoder = decoder
        self.readout = readout
        self.embedding_dropout = nn.Dropout(embedding_dropout)
        self.annotation_dropout = nn.Dropout(annotation_dropout)

    @property
    def attention(self) -> Attention | None:
        """The decoder's attention, if it has one."""
        attention: Attention | None = getattr(self.decoder, "attention", None)
        return attention

    def encode(self, source: Tensor, source_lengths: Tensor) -> tuple[Tensor, Tensor]:
        """``(B, S)`` and CPU lengths ``(B,)`` -> annotations ``(B, S, C)``, valid ``(B, S)``."""
        embeddings = self.embedding_dropout(self.source_embedding(source))
        annotations = self.annotation_dropout(self.encoder(embeddings, source_lengths))
        positions = torch.arange(source.shape[1], device=source.device)
        return annotations, positions < source_lengths.to(source.device, non_blocking=True).unsqueeze(1)

    def forward(
        self,
        source: Tensor,
        source_lengths: Tensor,
        target_in: Tensor,
        counted: Tensor,
        known: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Teacher forcing.

        ``source (B, S)``, CPU ``source_lengths (B,)``, ``target_in (B, T)`` beginning with <s>, ``counted``: the
        positions whose next word counts, bool ``(B, T)`` or their numbers ``(N,)``, see `pick`. ``known (B, T, S)``: a
        known alignment that gives the contexts of linked words, see `known_alignment`. Returns the readout's hidden
        vectors at the N counted positions ``(N, R)``, the input of ``readout.output``, and the attention weights
        ``(B, T, S)``.
        """
        annotations, valid = self.encode(source, source_lengths)
        embeddings = self.embedding_dropout(self.target_embedding(target_in))
        given = None if known is None else given_contexts(known, annotations)
        (states, contexts), weights = self.decoder.unroll(embeddings, self.decoder.start(annotations, valid), given)
        features = pick(states, counted), pick(contexts, counted)
        hidden = self.readout.hidden(features, pick(embeddings, counted))
        return hidden, weights

    def start(self, batch: Sentences) -> Nested:
        """The decoder's state before the first target word, rows as in ``batch.source``."""
        annotations, valid = self.encode(batch.source, batch.source_lengths)
        return self.decoder.start(annotations, valid)

    def step(self, tokens: Tensor, state: Nested) -> tuple[Tensor, Nested]:
        """Previous words ``(N,)`` -> log-probabilities of the next ``(N, V)`` in float32 or wider, next state."""
        log_probs, _, state = self.attend(tokens, state)
        return log_probs, state

    def attend(self, tokens: Tensor, state: Nested) -> tuple[Tensor, Tensor, Nested]:
        """``step``, and the attention weights ``(N, S)``."""
        for_decoder, for_readout = self.of_words(tokens)
        features, weights, state = self.decoder.advance(for_decoder, state)
        return self._log_probs(features, for_readout), weights, state

    def _log_probs(self, features: Features, for_readout: Tensor) -> Tensor:
        logits = self.readout.output(self.readout.join(features, for_readout))
        logits = logits.float() if logits.dtype.itemsize < 4 else logits
        if torch.is_grad_enabled():
            return torch.log_softmax(logits, dim=-1)
        return torch.log_softmax(logits, dim=-1, out=logits)

    def of_words(self, tokens: Tensor) -> tuple[Tensor, Tensor]:
        """What decoder and readout compute from the previous words ``(N,)`` alone: their ``project``."""
        embedding = self.embedding_dropout(self.target_embedding(tokens))
        return self.decoder.project(embedding), self.readout.project(embedding)

    def trace(self, batch: Sentences) -> Trace:
        """See `unrolled.models.trace.Recurrent`: the decoder's states; source and s_0 are constants."""
        with torch.no_grad():
            state = self.start(batch)
        states, log_probs_of_words = [], []
        for word, following in zip(batch.target_in.unbind(1), batch.target_out.unbind(1), strict=True):
            for_decoder, for_readout = self.of_words(word)
            (output, context), _, state = self.decoder.advance(for_decoder, state)
            s = self.decoder.recurrent(state)[0]
            if output is s:  # of this step, then the readout looks at its new node
                state = apart(state)
                output = self.decoder.recurrent(state)[0]
            else:
                state = apart(state, s)
            states.append(self.decoder.recurrent(state))
            log_probs = self._log_probs((output, context), for_readout)
            log_probs_of_words.append(log_probs.gather(1, following.unsqueeze(1)))
        return Trace(states, torch.cat(log_probs_of_words, dim=1))


def translator(
    *,
    source_vocabulary: int | None,
    target_vocabulary: int,
    encoder: Callable[..., Encoder] = BidirectionalGRU,
    decoder: Callable[..., Decoder],
    readout: Callable[..., Readout],
    attention: Callable[..., Attention] | None,
    embedding_size: int,
    encoder_size: int,
    encoder_layers: int,
    decoder_size: int,
    embedding_dropout: float,
    annotation_dropout: float,
    readout_dropout: float,
    tied_target_embeddings: bool,
    orthogonal: bool,
) -> Translator:
    """Build a translator from its variants (``encoder``, ``decoder``, ..., still without sizes) and sizes.

    Sizes are numbers of units; ``encoder_size`` is that of one direction. Parameters come from torch's global random
    state. UserError if decoder and attention, or readout and tied embeddings, do not fit together.
    """
    if source_vocabulary is None:
        raise UserError(
            "a translation model needs parallel text, not data=monolingual_text: for that, use model=rnn_lm"
        )
    annotation_size = 2 * encoder_size
    mechanism = None if attention is None else attention(query_size=decoder_size, annotation_size=annotation_size)
    model = Translator(
        source_embedding=nn.Embedding(source_vocabulary, embedding_size, padding_idx=PAD),
        target_embedding=nn.Embedding(target_vocabulary, embedding_size, padding_idx=PAD),
        encoder=encoder(
            embedding_size=embedding_size, size=encoder_size, layers=encoder_layers, dropout=annotation_dropout
        ),
        decoder=decoder(
            embedding_size=embedding_size, annotation_size=annotation_size, size=decoder_size, attention=mechanism
        ),
        readout=readout(
            state_size=decoder_size,
            annotation_size=annotation_size,
            embedding_size=embedding_size,
            vocabulary_size=target_vocabulary,
            dropout=readout_dropout,
        ),
        embedding_dropout=embedding_dropout,
        annotation_dropout=annotation_dropout,
    )

    def encode(word: Tensor) -> Tensor:
        """Annotations of a source of one word, by its embedding ``(1, E)``."""
        return model.encoder(word.unsqueeze(0), torch.ones(1, dtype=torch.long))

    initialise(
        model,
        output=model.readout.output,
        embedding_size=embedding_size,
        read_by=(encode, model.decoder.project, model.readout.project),
        orthogonal=orthogonal,
    )
    if tied_target_embeddings:
        if model.readout.output.weight.shape != model.target_embedding.weight.shape:
            raise UserError(
                "model.tied_target_embeddings=true needs a readout whose last layer is as wide as the embeddings "
                f"({embedding_size}), and {type(model.readout).__name__}'s is {model.readout.output.in_features} wide: "
                "leave it false, or use model=cgru or model=rnnsearch"
            )
        model.readout.output.weight = model.target_embedding.weight
    return model
