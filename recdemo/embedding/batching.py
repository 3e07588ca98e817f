"""Cut texts into requests that a service takes: by count, by tokens and by bytes."""

from collections.abc import Iterator, Sequence

from recdemo.embedding.service import Limits
from recdemo.embedding.tokens import ESTIMATE, TokenCounter

RESERVE = 0.05  # of the tokens of a request: a service may count a little more than we do


def cut_requests(
    texts: Sequence[str], limits: Limits, counter: TokenCounter = ESTIMATE
) -> Iterator[tuple[int, ...]]:
    """Yield the positions of each request, in order, every position once.

    No request is above a limit, unless a single text is: that one goes alone. So does a text
    that seems to be beyond the model's context, since it may be refused, and all others with it.
    """
    most_tokens = limits.request_tokens and int(limits.request_tokens * (1 - RESERVE))
    held: list[int] = []
    tokens = size = 0
    for position, text in enumerate(texts):
        its_tokens, its_size = counter.count(text), len(text.encode("utf-8", "surrogatepass"))
        alone = limits.text_tokens is not None and its_tokens > limits.text_tokens
        full = (
            len(held) >= limits.texts
            or (most_tokens is not None and tokens + its_tokens > most_tokens)
            or size + its_size > limits.request_bytes
        )
        if held and (alone or full):
            yield tuple(held)
            held, tokens, size = [], 0, 0
        if alone:
            yield (position,)
            continue
        held.append(position)
        tokens, size = tokens + its_tokens, size + its_size
    if held:
        yield tuple(held)
