"""opencl.hpp and Boost.Compute: queues, events and buffers as objects."""

from __future__ import annotations

import pytest
from native_cases import cases, verify

OCL101 = r"""
// bad write then kernel
void f(cl::Context &c, cl::Device &d, cl::Kernel &k, std::vector<float> &h) {
    cl::CommandQueue q(c, d, OOO);
    cl::Buffer b(c, CL_MEM_READ_WRITE, 64);
    k.setArg(0, b);
    q.enqueueWriteBuffer(b, CL_FALSE, 0, 64, h.data());
    q.enqueueNDRangeKernel(k, cl::NullRange, cl::NDRange(16), cl::NullRange); // expect: OCL101
    q.finish();
}
// bad a functor
void f(cl::Context &c, cl::Device &d, cl::Program &p, std::vector<float> &h) {
    cl::CommandQueue q(c, d, OOO);
    cl::Buffer b(c, CL_MEM_READ_WRITE, 64);
    cl::KernelFunctor<cl::Buffer> twice(p, "twice");
    q.enqueueWriteBuffer(b, CL_FALSE, 0, 64, h.data());
    twice(cl::EnqueueArgs(q, cl::NDRange(16)), b); // expect: OCL101
    q.finish();
}
// bad members of a class
class Job {
public:
    Job(cl::Context c, cl::Device d) : queue(c, d, OOO), data(c, CL_MEM_READ_WRITE, 64) {}
    void run(cl::Kernel &k, const float *h);
private:
    cl::CommandQueue queue;
    cl::Buffer data;
};
void Job::run(cl::Kernel &k, const float *h) {
    k.setArg(0, data);
    queue.enqueueWriteBuffer(data, CL_FALSE, 0, 64, h);
    queue.enqueueNDRangeKernel(k, cl::NullRange, cl::NDRange(16)); // expect: OCL101
    queue.finish();
}
// bad a lambda enqueues
void f(cl::Context &c, cl::Device &d, cl::Kernel &k, const float *h) {
    cl::CommandQueue q(c, d, cl::QueueProperties::OutOfOrder);
    cl::Buffer b(c, CL_MEM_READ_WRITE, 64);
    k.setArg(0, b);
    auto upload = [&](const float *from) { q.enqueueWriteBuffer(b, CL_FALSE, 0, 64, from); };
    upload(h);
    q.enqueueNDRangeKernel(k, cl::NullRange, cl::NDRange(16)); // expect: OCL101
    q.finish();
}
// bad a copy takes no wait list
void f(cl::Context &c, cl::Device &d, cl::Kernel &k, std::vector<float> &h) {
    cl::CommandQueue q(c, d, OOO);
    cl::Buffer b(c, CL_MEM_READ_WRITE, 64);
    k.setArg(0, b);
    q.enqueueNDRangeKernel(k, cl::NullRange, cl::NDRange(16));
    cl::copy(q, b, h.begin(), h.end()); // expect: OCL101
}
// bad migration before a task
void f(cl::Context &c, cl::Device &d, cl::Kernel &k, std::vector<int> &h) {
    cl_int err;
    OCL_CHECK(err, cl::CommandQueue q(c, d, OOO, &err));
    OCL_CHECK(err, cl::Buffer b(c, CL_MEM_USE_HOST_PTR | CL_MEM_READ_ONLY, 64, h.data(), &err));
    OCL_CHECK(err, err = k.setArg(0, b));
    OCL_CHECK(err, err = q.enqueueMigrateMemObjects({b}, 0));
    OCL_CHECK(err, err = q.enqueueTask(k)); // expect: OCL101
    OCL_CHECK(err, err = q.finish());
}
// good the event of the write
void f(cl::Context &c, cl::Device &d, cl::Kernel &k, std::vector<float> &h) {
    cl::CommandQueue q(c, d, OOO);
    cl::Buffer b(c, CL_MEM_READ_WRITE, 64);
    cl::Event done;
    k.setArg(0, b);
    q.enqueueWriteBuffer(b, CL_FALSE, 0, 64, h.data(), nullptr, &done);
    std::vector<cl::Event> waits{done};
    q.enqueueNDRangeKernel(k, cl::NullRange, cl::NDRange(16), cl::NullRange, &waits);
    q.finish();
}
// good push_back in a loop
void f(cl::Context &c, cl::Device &d, cl::Kernel &k, std::vector<float> &h) {
    cl::CommandQueue q(c, d, OOO);
    std::vector<cl::Buffer> b;
    std::vector<cl::Event> waits;
    for (int i = 0; i < 3; i++) {
        b.emplace_back(cl::Buffer(c, CL_MEM_READ_WRITE, 64));
        cl::Event done;
        k.setArg(i, b[i]);
        q.enqueueWriteBuffer(b[i], CL_FALSE, 0, 64, h.data(), nullptr, &done);
        waits.push_back(done);
    }
    q.enqueueNDRangeKernel(k, cl::NullRange, cl::NDRange(16), cl::NullRange, &waits);
    q.finish();
}
// good data and size for the C call
void f(cl_context c, cl_device_id d, cl_kernel k, const float *h, size_t n) {
    cl_command_queue q = clCreateCommandQueue(c, d, OOO, nullptr);
    cl_mem b = clCreateBuffer(c, CL_MEM_READ_WRITE, n, nullptr, nullptr);
    std::vector<cl_event> waits(1);
    clSetKernelArg(k, 0, sizeof(cl_mem), &b);
    clEnqueueWriteBuffer(q, b, CL_FALSE, 0, n, h, 0, nullptr, &waits[0]);
    clEnqueueNDRangeKernel(q, k, 1, nullptr, &n, nullptr, (cl_uint)waits.size(), waits.data(), nullptr);
    clFinish(q);
    for (cl_event e : waits) clReleaseEvent(e);
}
// good the events of a functor
void f(cl::Context &c, cl::Device &d, cl::Program &p, std::vector<float> &h) {
    cl::CommandQueue q(c, d, OOO);
    cl::Buffer b(c, CL_MEM_READ_WRITE, 64);
    cl::KernelFunctor<cl::Buffer> twice(p, "twice");
    std::vector<cl::Event> done(1);
    q.enqueueWriteBuffer(b, CL_FALSE, 0, 64, h.data(), nullptr, &done[0]);
    twice(cl::EnqueueArgs(q, done, cl::NDRange(16)), b);
    q.finish();
}
// good the default order
void f(cl::Context &c, cl::Device &d, cl::Kernel &k, std::vector<float> &h) {
    cl::CommandQueue q(c, d, CL_QUEUE_PROFILING_ENABLE);
    cl::Buffer b(c, CL_MEM_READ_WRITE, 64);
    k.setArg(0, b);
    q.enqueueWriteBuffer(b, CL_FALSE, 0, 64, h.data());
    q.enqueueNDRangeKernel(k, cl::NullRange, cl::NDRange(16));
    q.finish();
}
// good a reference to an event
static void upload(cl::CommandQueue &q, cl::Buffer &b, const float *h, cl::Event &done) {
    q.enqueueWriteBuffer(b, CL_FALSE, 0, 64, h, nullptr, &done);
}
void f(cl::Context &c, cl::Device &d, cl::Kernel &k, const float *h) {
    cl::CommandQueue q(c, d, OOO);
    cl::Buffer b(c, CL_MEM_READ_WRITE, 64);
    std::vector<cl::Event> waits(1);
    k.setArg(0, b);
    upload(q, b, h, waits[0]);
    q.enqueueNDRangeKernel(k, cl::NullRange, cl::NDRange(16), cl::NullRange, &waits);
    q.finish();
}
// good Boost.Compute returns its events
void f(boost::compute::context &c, boost::compute::device &d, boost::compute::kernel &k, const float *h) {
    boost::compute::command_queue q(c, d, boost::compute::command_queue::enable_out_of_order_execution);
    boost::compute::buffer b(c, 64);
    k.set_arg(0, b);
    boost::compute::event done = q.enqueue_write_buffer_async(b, 0, 64, h);
    q.enqueue_1d_range_kernel(k, 0, 16, 0, done);
    q.finish();
}
"""

OCL203 = r"""
// bad a vector of a function
void f(cl::CommandQueue &q, cl::Buffer &b, size_t n) {
    std::vector<float> x(n);
    q.enqueueWriteBuffer(b, CL_FALSE, 0, n * 4, x.data());
} // expect: OCL203
// bad deleted
void f(cl::CommandQueue &q, cl::Buffer &b, size_t n) {
    float *x = new float[n];
    q.enqueueWriteBuffer(b, CL_FALSE, 0, n * 4, x);
    delete[] x; // expect: OCL203
    q.finish();
}
// bad a vector of a loop
void f(cl::CommandQueue &q, cl::Buffer &b, size_t n) {
    for (int i = 0; i < 3; i++) {
        std::vector<float> x(n);
        q.enqueueReadBuffer(b, CL_FALSE, 0, n * 4, &x[0]);
    } // expect: OCL203
    q.finish();
}
// bad an array of a block
void f(cl::CommandQueue &q, cl::Buffer &b, bool on) {
    if (on) {
        int flags[4] = {1, 2, 3, 4};
        q.enqueueWriteBuffer(b, false, 0, sizeof(flags), flags);
    } // expect: OCL203
    q.finish();
}
// bad a unique pointer
void f(cl::CommandQueue &q, cl::Buffer &b, size_t n) {
    std::array<float, 16> x;
    q.enqueueReadBuffer(b, CL_FALSE, 0, 64, x.data());
} // expect: OCL203
// bad flushed only
void f(cl::CommandQueue &q, cl::Buffer &b, size_t n) {
    std::vector<float> x(n);
    q.enqueueWriteBuffer(b, CL_FALSE, 0, n * 4, x.data());
    q.flush();
} // expect: OCL203
// good finished
void f(cl::CommandQueue &q, cl::Buffer &b, size_t n) {
    std::vector<float> x(n);
    q.enqueueWriteBuffer(b, CL_FALSE, 0, n * 4, x.data());
    q.finish();
}
// good waited for
void f(cl::CommandQueue &q, cl::Buffer &b, size_t n) {
    std::vector<float> x(n);
    cl::Event done;
    q.enqueueWriteBuffer(b, CL_FALSE, 0, n * 4, x.data(), nullptr, &done);
    done.wait();
}
// good a vector of the caller
void f(cl::CommandQueue &q, cl::Buffer &b, std::vector<float> &x) {
    q.enqueueWriteBuffer(b, CL_FALSE, 0, 64, x.data());
}
// good a member
struct Job {
    std::vector<float> x;
    void f(cl::CommandQueue &q, cl::Buffer &b) { q.enqueueWriteBuffer(b, CL_FALSE, 0, 64, x.data()); }
};
// good returned
std::vector<float> f(cl::CommandQueue &q, cl::Buffer &b) {
    std::vector<float> x(16);
    q.enqueueReadBuffer(b, CL_FALSE, 0, 64, x.data());
    return x;
}
// good a blocking read after it
void f(cl::CommandQueue &q, cl::Buffer &b, cl::Buffer &c) {
    std::vector<float> x(16), y(16);
    q.enqueueReadBuffer(b, CL_FALSE, 0, 64, x.data());
    q.enqueueReadBuffer(c, CL_TRUE, 0, 64, y.data());
}
// good static
void f(cl::CommandQueue &q, cl::Buffer &b) {
    static std::vector<float> x(16);
    q.enqueueWriteBuffer(b, CL_FALSE, 0, 64, x.data());
}
"""

TABLES = {"OCL101": OCL101, "OCL203": OCL203}


@pytest.mark.parametrize(("code", "chunk"), [row for code, text in TABLES.items() for row in cases(code, text)])
def test_cpp(code: str, chunk: str) -> None:
    verify(code, chunk, "c++")
