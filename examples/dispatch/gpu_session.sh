#!/bin/sh
# What `kexec-lint dispatch` says on a machine with a CUDA GPU; docs/dispatch.md keeps the output of one.
k="python3 -W ignore -m kexec_lint dispatch"
run() { echo; echo "\$ kexec-lint dispatch $*"; $k "$@"; echo "exit $?"; }
python3 -c "import torch; print(torch.__version__, torch.cuda.get_device_name())"
run explain matmul --input "f32[2,3] cuda" --input "f32[3,4] cuda requires_grad"
run explain mm --input "f32[2,3] cuda" --input "f32[3,4] cuda"
run explain nms --import torchvision --input "f32[4,4] cuda" --input "f32[4] cuda" --input 0.5
run explain torchvision::nms --import torchvision --input "f32[4,4] cuda" --input "f32[4] cuda" --input 0.5
run explain aten::_sparse_mm --input "f32[3,3] cuda sparse" --input "f32[3,3] cuda"
run trace examples/dispatch/mixed_precision.py
run compare matmul --devices cuda,cpu --input "f32[64,64]" --input "f32[64,64]"
run compare matmul --devices cuda,float64 --input "f16[256,512]" --input "f16[512,256]"
run compare examples/dispatch/mixed_precision.py --devices cuda,cpu
run compare examples/dispatch/mixed_precision.py --devices cuda,float64 --rtol 0.0001 --atol 0.0001
python3 -W ignore benchmarks/trace_training.py --device cuda
python3 -W ignore benchmarks/trace_training.py --device cpu
