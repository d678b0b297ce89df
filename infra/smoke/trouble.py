"""What can go wrong."""


class Unusable(Exception):
    """Nothing can be tried: wrong usage, or something can't be reached."""


class Differs(Exception):
    """Something isn't as it must be. The lines say what."""

    def __init__(self, words, lines=()):
        super().__init__(words)
        self.lines = list(lines)
