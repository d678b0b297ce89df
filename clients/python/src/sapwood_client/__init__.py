"""Sapwood's HTTP API, and the keys of its table."""

from . import keys, models, problems, values
from .asynchronous import AsyncSapwood
from .call import Answer, AsyncPages, CallOptions, Pages, in_path
from .client import Sapwood, Session
from .keys import InvalidKey, KeyRange, Keys
from .problems import NoAnswer, OutcomeUnknown, Problem, SapwoodError, TookTooLong, problem_of
from .transport import Request, Response, Transport

__all__ = [
    "Answer", "AsyncPages", "AsyncSapwood", "CallOptions", "InvalidKey", "KeyRange", "Keys", "NoAnswer", "OutcomeUnknown", "Pages", "Problem", "Request", "Response",
    "Sapwood", "SapwoodError", "Session", "TookTooLong", "Transport", "in_path", "keys", "models", "problem_of", "problems", "values",
]
__version__ = "0.1.0"
