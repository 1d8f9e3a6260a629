"""The hub's limits."""

from __future__ import annotations

import ast
import inspect
from itertools import pairwise

import attrs

from fleetgate.core import limits
from fleetgate.core.limits import Limits


def test_I9_every_limit_is_positive_and_has_its_reason_beside_it() -> None:
    tree = ast.parse(inspect.getsource(limits))
    (body,) = (node.body for node in tree.body if isinstance(node, ast.ClassDef))
    documented = {
        before.target.id
        for before, after in pairwise(body)
        if isinstance(before, ast.AnnAssign)
        and isinstance(before.target, ast.Name)
        and isinstance(after, ast.Expr)
    }
    assert documented == {field.name for field in attrs.fields(Limits)}
    assert all(value is None or value > 0 for value in attrs.astuple(Limits()))
