"""A matrix product in half precision whose rows are summed: the GPU accumulates in another order than the CPU."""

import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
torch.manual_seed(0)
x = torch.rand(256, 512, device=device).half()
w = torch.rand(512, 256, device=device).half()
y = torch.nn.functional.gelu(x @ w)
print(float(y.float().sum()))
