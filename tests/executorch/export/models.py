"""Source models for the exporter and for delegate compare."""

from __future__ import annotations

from typing import Any

import torch

X = torch.linspace(-3, 3, 16).reshape(2, 8)


class Net(torch.nn.Module):
    def __init__(self, approximate: str) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.first, self.second = torch.nn.Linear(8, 8), torch.nn.Linear(8, 8)
        self.gelu = torch.nn.GELU(approximate=approximate)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        y = self.second(torch.cumsum(self.first(x).relu(), 1))
        return self.gelu(y).sin(), y.sum(1)


def tanh() -> tuple[Any, ...]:
    return Net("tanh").eval(), (X,)


def exact() -> tuple[Any, ...]:
    return Net("none").eval(), (X,)


class Bent(torch.nn.Module):
    """Holds the substitution between operations without a kernel of their own, and after other partitions."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.nn.functional.hardswish(x) + x
        return torch.nn.functional.gelu(torch.cumsum(y, 1), approximate="tanh") * 3


def bent() -> tuple[Any, ...]:
    return Bent().eval(), (X,)


def methods() -> dict[str, Any]:
    return {"plus": (torch.nn.ReLU(), (X,)), "minus": (torch.nn.Sigmoid(), (X,))}


def sorted_values() -> tuple[Any, ...]:
    class Sort(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.sort(x)[0]

    return Sort(), (X,)


def random() -> tuple[Any, ...]:
    return torch.nn.Dropout(0.5).train(), (X,)


def no_inputs() -> Any:
    return torch.nn.ReLU()


def number() -> int:
    return 3


example = torch.nn.Sequential(torch.nn.Linear(8, 2))
example.example_inputs = (X,)
