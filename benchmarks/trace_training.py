"""Trace one training step of a small transformer: same loss and gradients as untraced, and what an event costs.

python benchmarks/trace_training.py [--device cpu]
"""

from __future__ import annotations

import argparse
import time

import torch

from kexec_lint.aten.dispatch.trace import Tracer


def step(device: str) -> tuple[torch.Tensor, list[torch.Tensor]]:
    """Return loss and gradients of one step; the same every time."""
    torch.manual_seed(0)
    layer = torch.nn.TransformerEncoderLayer(64, 4, 128, dropout=0.0, batch_first=True)
    model = torch.nn.Sequential(
        torch.nn.Embedding(100, 64), torch.nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
    ).to(device)
    head = torch.nn.Linear(64, 100).to(device)
    tokens = torch.randint(0, 100, (4, 16)).to(device)
    loss = torch.nn.functional.cross_entropy(head(model(tokens)).flatten(0, 1), tokens.flatten())
    loss.backward()
    return loss.detach(), [p.grad for p in (*model.parameters(), *head.parameters())]


def main() -> None:
    """Print the comparison and the overhead."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cpu")
    device = parser.parse_args().device
    if device != "cpu":
        torch.use_deterministic_algorithms(True, warn_only=True)
    step(device)
    begin = time.perf_counter()
    loss, gradients = step(device)
    plain = time.perf_counter() - begin
    tracer = Tracer()
    begin = time.perf_counter()
    with tracer:
        traced_loss, traced_gradients = step(device)
    traced = time.perf_counter() - begin
    same = sum(torch.equal(a, b) for a, b in zip(gradients, traced_gradients, strict=True))
    count = len(tracer.events)
    print(
        f"torch {torch.__version__}, {device}: loss equal {torch.equal(loss, traced_loss)}, gradients equal "
        f"{same} of {len(gradients)}, {count} events, {plain * 1e3:.1f} ms plain, {traced * 1e3:.1f} ms traced, "
        f"{(traced - plain) / count * 1e6:.0f} us an event"
    )


if __name__ == "__main__":
    main()
