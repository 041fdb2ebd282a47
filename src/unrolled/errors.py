"""The one exception that means "the user can mend this"."""


class UserError(Exception):
    """A mistake in the user's input, told in one line: what is wrong, where, and how to mend it.

    Scripts print the message to stderr without a traceback and end with exit status 2.
    """
