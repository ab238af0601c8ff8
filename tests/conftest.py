"""Settings all tests share."""

from hypothesis import settings

# Derandomized: the examples are the same on every machine, so a failure is a failure of the code.
settings.register_profile("house", deadline=None, derandomize=True, max_examples=40)
settings.load_profile("house")
