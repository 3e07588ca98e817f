"""What a layout takes in memory."""

import math

from recdemo.store import Layout


def memory_per_item(layout: Layout, dimension: int, n_items: int) -> float:
    """Return the bytes of an item that an engine wants in memory, to search at full speed.

    A full vector takes 4 bytes a number. Of quantized vectors only the copy is searched, and the
    full ones are read from disk for rescoring: scalar takes a byte a number, in steps of 16, and 4
    more; turbo half a byte, and 12 more; binary a bit, in steps of 128. These are the sizes of the
    engine's files; a test holds them against what it writes. The graph has 2m links on its lowest
    layer, where all points are (Malkov and Yashunin 2018, IEEE TPAMI 42, 4: "M_max0"), each of as
    many bits as the number of points takes; the engine fills about two thirds of them.
    """
    sizes = {
        "none": 4.0 * dimension,
        "scalar": 16.0 * math.ceil(dimension / 16) + 4,
        "turbo": dimension / 2 + 12,
        "binary": 16.0 * math.ceil(dimension / 128),
    }
    links = 0.0 if layout.m is None else 2 * layout.m * math.ceil(math.log2(max(n_items, 2))) / 8
    return sizes[layout.quantization] + links
