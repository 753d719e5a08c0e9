"""opencl.hpp and Boost.Compute: queues, events and buffers as objects."""

from __future__ import annotations

import pytest
from native_cases import cases, verify

OCL101 = r"""
// bad events behind a method that returns a reference
class Events {
    cl_event *event;
public:
    Events(int n) : event(new cl_event[n]) {
        for (int i = 0; i < n; i++)
            event[i] = NULL;
    }
    cl_event &at(const int i = 0);
    cl_event *all() { return event; }
};
cl_event &Events::at(const int i) { return event[i]; }
void f(cl_context c, cl_device_id d, cl_kernel k, cl_mem a, cl_mem b, const float *p, size_t n) {
    cl_command_queue q = clCreateCommandQueue(c, d, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, NULL);
    Events sent(2);
    clSetKernelArg(k, 0, sizeof(a), &a);
    clSetKernelArg(k, 1, sizeof(b), &b);
    clEnqueueWriteBuffer(q, a, CL_FALSE, 0, n, p, 0, NULL, &sent.at());
    clEnqueueNDRangeKernel(q, k, 1, NULL, &n, NULL, 1, sent.all(), NULL);
    clFinish(q);
    clEnqueueWriteBuffer(q, b, CL_FALSE, 0, n, p, 0, NULL, &(sent.at(1)));
    clEnqueueNDRangeKernel(q, k, 1, NULL, &n, NULL, 0, NULL, NULL); // expect: OCL101
    clFinish(q);
}
// bad kernels in a vector, made in a loop over devices that ends early
#define COUNT 2
int f(const std::vector<cl::Device> &devices, cl::Program::Binaries bins, size_t n) {
    cl_int err;
    cl::CommandQueue q;
    cl::Context c;
    std::vector<cl::Kernel> kernels(COUNT);
    bool found = false;
    for (unsigned int i = 0; i < devices.size(); i++) {
        CHECK(err, c = cl::Context(devices[i], nullptr, nullptr, nullptr, &err));
        CHECK(err, q = cl::CommandQueue(c, devices[i], CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, &err));
        cl::Program p(c, {devices[i]}, bins, nullptr, &err);
        if (err == CL_SUCCESS) {
            for (int k = 0; k < COUNT; k++)
                CHECK(err, kernels[k] = cl::Kernel(p, "twice", &err));
            found = true;
            break;
        }
    }
    if (!found)
        exit(1);
    std::vector<cl::Buffer> out(COUNT);
    for (int k = 0; k < COUNT; k++)
        CHECK(err, out[k] = cl::Buffer(c, CL_MEM_WRITE_ONLY, n, nullptr, &err));
    for (int k = 0; k < COUNT; k++) {
        CHECK(err, err = kernels[k].setArg(0, out[k]));
        CHECK(err, err = q.enqueueTask(kernels[k]));
    }
    for (int k = 0; k < COUNT; k++)
        CHECK(err, err = q.enqueueMigrateMemObjects({out[k]}, CL_MIGRATE_MEM_OBJECT_HOST)); // expect: OCL101
    q.finish();
    return 0;
}
// bad mapped for reading while a kernel may fill it
void f(cl::Context &c, cl::Device &d, cl::Program &p, size_t n) {
    cl::CommandQueue q(c, d, OOO);
    cl::Kernel k(p, "fill");
    cl::Buffer b(c, CL_MEM_READ_WRITE, n);
    k.setArg(0, b);
    q.enqueueTask(k);
    float *x = (float *)q.enqueueMapBuffer(b, CL_TRUE, CL_MAP_READ, 0, n); // expect: OCL101
    q.enqueueUnmapMemObject(b, x);
    q.finish();
}
// good mapped for reading behind the kernel's event
void f(cl::Context &c, cl::Device &d, cl::Program &p, size_t n) {
    cl::CommandQueue q(c, d, OOO);
    cl::Kernel k(p, "fill");
    cl::Buffer b(c, CL_MEM_READ_WRITE, n);
    k.setArg(0, b);
    std::vector<cl::Event> done(1);
    q.enqueueTask(k, nullptr, &done[0]);
    float *x = (float *)q.enqueueMapBuffer(b, CL_TRUE, CL_MAP_READ, 0, n, &done);
    q.enqueueUnmapMemObject(b, x);
    q.finish();
}
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
// bad two queues work on all of one buffer
const char *twice = "__kernel void twice(__global float *x) { x[get_global_id(0)] *= 2.0f; }";
void f(cl_context c, cl_device_id *d, cl_mem b, size_t n) {
    cl_kernel k = clCreateKernel(clCreateProgramWithSource(c, 1, &twice, NULL, NULL), "twice", NULL);
    std::vector<cl_command_queue> queues;
    for (int i = 0; i < 2; i++)
        queues.push_back(clCreateCommandQueue(c, d[i], 0, NULL));
    clSetKernelArg(k, 0, sizeof(b), &b);
    for (size_t i = 0; i < queues.size(); i++)
        clEnqueueNDRangeKernel(queues[i], k, 1, NULL, &n, NULL, 0, NULL, NULL); // expect: OCL101
    for (size_t i = 0; i < queues.size(); i++)
        clFinish(queues[i]);
}
// good each queue works on its own part of the buffer
const char *twice = "__kernel void twice(__global float *x) { x[get_global_id(0)] *= 2.0f; }";
void f(cl_context c, cl_device_id *d, cl_mem b, size_t n) {
    cl_kernel k = clCreateKernel(clCreateProgramWithSource(c, 1, &twice, NULL, NULL), "twice", NULL);
    std::vector<cl_command_queue> queues;
    for (int i = 0; i < 2; i++)
        queues.push_back(clCreateCommandQueue(c, d[i], 0, NULL));
    clSetKernelArg(k, 0, sizeof(b), &b);
    for (size_t i = 0; i < queues.size(); i++) {
        size_t start = i * n;
        clEnqueueNDRangeKernel(queues[i], k, 1, &start, &n, NULL, 0, NULL, NULL);
    }
    for (size_t i = 0; i < queues.size(); i++)
        clFinish(queues[i]);
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

OCL201 = r"""
// bad a row of an array of vectors
int f(cl::CommandQueue &q, cl::Buffer &b) {
    std::vector<int> rows[2];
    for (int i = 0; i < 2; i++)
        rows[i].resize(16);
    q.enqueueReadBuffer(b, CL_FALSE, 0, 64, rows[0].data());
    int sum = rows[0][3]; // expect: OCL201
    q.finish();
    return sum;
}
// bad memory behind Xilinx' extension structure
int f(cl::Context &context, cl::Device &d, cl::Program &p) {
    std::vector<int> x(16);
    cl::CommandQueue q(context, d, OOO);
    cl::Kernel k(p, "fill");
    cl_mem_ext_ptr_t behind;
    behind.obj = x.data();
    behind.param = 0;
    behind.flags = XCL_MEM_DDR_BANK0;
    cl::Buffer b(context, CL_MEM_WRITE_ONLY | CL_MEM_EXT_PTR_XILINX | CL_MEM_USE_HOST_PTR, 64, &behind);
    k.setArg(0, b);
    q.enqueueTask(k);
    q.finish();
    q.enqueueMigrateMemObjects({b}, CL_MIGRATE_MEM_OBJECT_HOST);
    int first = x[0]; // expect: OCL201
    q.finish();
    return first;
}
// good another row
int f(cl::CommandQueue &q, cl::Buffer &b) {
    std::vector<int> rows[2];
    rows[0].resize(16);
    rows[1].resize(16);
    q.enqueueReadBuffer(b, CL_FALSE, 0, 64, rows[0].data());
    int sum = rows[1][3];
    q.finish();
    return sum;
}
// good a row that is not known
int f(cl::CommandQueue &q, cl::Buffer &b, int i, int k) {
    std::vector<int> rows[2];
    q.enqueueReadBuffer(b, CL_FALSE, 0, 64, rows[i].data());
    int sum = rows[k][3];
    q.finish();
    return sum;
}
"""

OCL316 = r"""
// bad the only wait is missing, after an early return
int main(int argc, char **argv) {
    if (argc < 2)
        return 1;
    cl::Context c(CL_DEVICE_TYPE_GPU);
    cl::CommandQueue q(c);
    cl::Program p(c, argv[1], true);
    cl::Kernel k(p, "work");
    q.enqueueNDRangeKernel(k, cl::NullRange, cl::NDRange(64)); // expect: OCL316
    return 0;
}
// good a wait, after an early return
int main(int argc, char **argv) {
    if (argc < 2)
        return 1;
    cl::Context c(CL_DEVICE_TYPE_GPU);
    cl::CommandQueue q(c);
    cl::Program p(c, argv[1], true);
    cl::Kernel k(p, "work");
    q.enqueueNDRangeKernel(k, cl::NullRange, cl::NDRange(64));
    q.finish();
    return 0;
}
// good an algorithm of Boost.Compute fetches the result
int main() {
    boost::compute::device device = boost::compute::system::default_device();
    boost::compute::context context(device);
    boost::compute::command_queue queue(context, device);
    boost::compute::program p = boost::compute::program::create_with_source("kernel void k(global int *x) {}", context);
    boost::compute::kernel k(p, "k");
    boost::compute::vector<int> v(100, context);
    std::vector<int> host(100);
    k.set_arg(0, v);
    queue.enqueue_1d_range_kernel(k, 0, 100, 0);
    boost::compute::copy(v.begin(), v.end(), host.begin(), queue);
    return host[0];
}
// good a wait on some path
int main(int argc, char **argv) {
    cl::Context c(CL_DEVICE_TYPE_GPU);
    cl::CommandQueue q(c);
    cl::Program p(c, argv[1], true);
    cl::Kernel k(p, "work");
    q.enqueueNDRangeKernel(k, cl::NullRange, cl::NDRange(64));
    if (argc > 2)
        q.finish();
    return 0;
}
// bad an exit that reports success
void f(cl_command_queue q, cl_kernel k, size_t n) {
    clEnqueueNDRangeKernel(q, k, 1, NULL, &n, NULL, 0, NULL, NULL);
    exit(0); // expect: OCL316
}
// good exits that report a failure
void one(cl_command_queue q, cl_kernel k, size_t n) {
    clEnqueueNDRangeKernel(q, k, 1, NULL, &n, NULL, 0, NULL, NULL);
    fprintf(stderr, "no memory\n");
    exit(1);
}
void two(cl_command_queue q, cl_kernel k, size_t n) {
    clEnqueueNDRangeKernel(q, k, 1, NULL, &n, NULL, 0, NULL, NULL);
    exit(EXIT_FAILURE);
}
void three(cl_command_queue q, cl_kernel k, size_t n) {
    clEnqueueNDRangeKernel(q, k, 1, NULL, &n, NULL, 0, NULL, NULL);
    abort();
}
"""

OCL308 = r"""
// bad the loop may go on although the last turn enqueued nothing
class Events {
    cl_event *event;
public:
    Events() : event(new cl_event[1]) { event[0] = NULL; }
    cl_event *all() { return event; }
};
void f(cl_command_queue q, cl_kernel k, cl_mem b, float *x, size_t step, size_t n, size_t some) {
    Events even, odd;
    clEnqueueNDRangeKernel(q, k, 1, NULL, &n, NULL, 0, NULL, odd.all());
    size_t done = 0;
    int turn = 1;
    while (done < n) {
        Events *before = &even, *now = &odd;
        if (turn & 1) {
            before = &odd;
            now = &even;
        }
        clEnqueueReadBuffer(q, b, CL_FALSE, 0, step, x, 1, before->all(), NULL); // expect: OCL308
        done += step;
        if (done < some)
            clEnqueueNDRangeKernel(q, k, 1, NULL, &n, NULL, 0, NULL, now->all());
        turn += 1;
    }
    clFinish(q);
}
// good the loop goes on only if the last turn enqueued
class Events {
    cl_event *event;
public:
    Events() : event(new cl_event[1]) { event[0] = NULL; }
    cl_event *all() { return event; }
};
void f(cl_command_queue q, cl_kernel k, cl_mem b, float *x, size_t step, size_t n) {
    Events even, odd;
    clEnqueueNDRangeKernel(q, k, 1, NULL, &n, NULL, 0, NULL, odd.all());
    size_t done = 0;
    int turn = 1;
    while (done < n) {
        Events *before = &even, *now = &odd;
        if (turn & 1) {
            before = &odd;
            now = &even;
        }
        clEnqueueReadBuffer(q, b, CL_FALSE, 0, step, x, 1, before->all(), NULL);
        done += step;
        if (done < n)
            clEnqueueNDRangeKernel(q, k, 1, NULL, &n, NULL, 0, NULL, now->all());
        turn += 1;
    }
    clFinish(q);
}
// good a function that calls itself fills the event
struct Plan { int large; Plan *x; Plan *y; cl_kernel k; };
cl_int transform(Plan *plan, cl_command_queue *q, cl_uint count, const cl_event *wait, cl_event *out, cl_mem b, void *p,
                 size_t n) {
    if (plan->large) {
        cl_event first = NULL;
        transform(plan->x, q, count, wait, &first, b, p, n);
        clEnqueueReadBuffer(*q, b, CL_TRUE, 0, n, p, 1, &first, NULL);
        transform(plan->y, q, 1, &first, out, b, p, n);
        clReleaseEvent(first);
        return CL_SUCCESS;
    }
    return clEnqueueNDRangeKernel(*q, plan->k, 1, NULL, &n, NULL, count, wait, out);
}
"""

OCL206 = r"""
// bad a map that nothing waits for
int f(cl::CommandQueue &q, cl::Buffer &b) {
    cl::Event mapped;
    int *p = (int *)q.enqueueMapBuffer(b, CL_FALSE, CL_MAP_READ, 0, 4, NULL, &mapped);
    q.flush();
    int first = p[0]; // expect: OCL206
    q.enqueueUnmapMemObject(b, p);
    return first;
}
// good a loop that asks for the status, which is another matter
int f(cl::CommandQueue &q, cl::Buffer &b) {
    cl::Event mapped;
    int *p = (int *)q.enqueueMapBuffer(b, CL_FALSE, CL_MAP_READ, 0, 4, NULL, &mapped);
    q.flush();
    while (mapped.getInfo<CL_EVENT_COMMAND_EXECUTION_STATUS>() != CL_COMPLETE)
        ;
    int first = p[0];
    q.enqueueUnmapMemObject(b, p);
    return first;
}
// good the same in C
int f(cl_command_queue q, cl_mem b) {
    cl_event mapped;
    cl_int status;
    int *p = (int *)clEnqueueMapBuffer(q, b, CL_FALSE, CL_MAP_READ, 0, 4, 0, NULL, &mapped, NULL);
    clFlush(q);
    do {
        clGetEventInfo(mapped, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status), &status, NULL);
    } while (status != CL_COMPLETE);
    int first = p[0];
    clReleaseEvent(mapped);
    clEnqueueUnmapMemObject(q, b, p, 0, NULL, NULL);
    return first;
}
"""

OCL211 = r"""
// bad a status is asked for by template
int f(cl::CommandQueue &q, cl::Buffer &b) {
    int x[4];
    cl::Event event;
    q.enqueueReadBuffer(b, CL_FALSE, 0, 16, x, NULL, &event);
    while (event.getInfo<CL_EVENT_COMMAND_EXECUTION_STATUS>() != CL_COMPLETE)
        ;
    int first = x[0]; // expect: OCL211
    q.finish();
    return first;
}
// good another property
int f(cl::CommandQueue &q, cl::Buffer &b) {
    int x[4];
    cl::Event event;
    q.enqueueReadBuffer(b, CL_TRUE, 0, 16, x, NULL, &event);
    while (event.getInfo<CL_EVENT_REFERENCE_COUNT>() > 1)
        ;
    return x[0];
}
"""

OCL306 = r"""
// bad a list of none
void f(cl_command_queue q, cl_kernel k, size_t n) {
    cl_event ready;
    clEnqueueNDRangeKernel(q, k, 1, NULL, &n, NULL, 0, NULL, &ready);
    clWaitForEvents(0, &ready); // expect: OCL306
    clReleaseEvent(ready);
}
// bad a vector that this method has just made
class Pool {
public:
    void settle(cl_command_queue q, cl_kernel k, size_t n) {
        std::vector<cl_command_queue> mine;
        cl_event ready;
        clEnqueueNDRangeKernel(q, k, 1, NULL, &n, NULL, 0, NULL, &ready);
        clWaitForEvents(mine.size(), &ready); // expect: OCL306
        clReleaseEvent(ready);
    }
};
// good a vector that another method fills
class Pool {
public:
    Pool(cl_context c) : context(c) {}
    void add(cl_command_queue q) { queues.push_back(q); }
    void settle() {
        const auto count = queues.size();
        cl_event *const events = new cl_event[count];
        for (size_t i = 0; i < count; ++i)
            clEnqueueMarkerWithWaitList(queues[i], 0, NULL, &events[i]);
        clWaitForEvents(count, events);
        for (size_t i = 0; i < count; ++i)
            clReleaseEvent(events[i]);
        delete[] events;
    }
private:
    cl_context context;
    std::vector<cl_command_queue> queues;
};
"""

OCL405 = r"""
// bad a work-group of another size than the kernel asks for, from the overload that takes so many arguments
const char *source = "__kernel __attribute__((reqd_work_group_size(8, 8, 1))) void k(__global float *x) { x[0] = 1; }";
cl::NDRange group(int x) { return cl::NDRange(8, 8); }
cl::NDRange group(int x, int y) { return cl::NDRange(x, y); }
void f(cl::Context &c, cl::CommandQueue &q, cl::Buffer &b, int n) {
    cl::Program p(c, source);
    p.build();
    cl::Kernel k(p, "k");
    k.setArg(0, b);
    q.enqueueNDRangeKernel(k, cl::NullRange, cl::NDRange(n, n), group(16, 4)); // expect: OCL405
    q.finish();
}
// good the overload that takes so many arguments returns that size, and so do a method and one with a default
const char *source = "__kernel __attribute__((reqd_work_group_size(8, 8, 1))) void k(__global float *x) { x[0] = 1; }";
cl::NDRange group(int x) { return cl::NDRange(8, 8); }
cl::NDRange group(int x, int y) { return cl::NDRange(x, y); }
struct Sizes {
    cl::NDRange group(int x, int y) { return cl::NDRange(x, y); }
    cl::NDRange group(int x) { return cl::NDRange(8, 8); }
    cl::NDRange fit(int x, int y = 1, int z = 1) { return cl::NDRange(8, 8, 1); }
    cl::NDRange fit(int x, int y, int z, int w) { return cl::NDRange(x, y, z); }
};
void f(cl::Context &c, cl::CommandQueue &q, cl::Buffer &b, int n) {
    Sizes sizes;
    cl::Program p(c, source);
    p.build();
    cl::Kernel k(p, "k");
    k.setArg(0, b);
    q.enqueueNDRangeKernel(k, cl::NullRange, cl::NDRange(n, n), group(16));
    q.enqueueNDRangeKernel(k, cl::NullRange, cl::NDRange(n, n), sizes.group(16));
    q.enqueueNDRangeKernel(k, cl::NullRange, cl::NDRange(n, n, n), sizes.fit(16, 4));
    q.finish();
}
// good a range of fewer dimensions has 1 in the others, one of more has them ignored
const char *source = "__kernel __attribute__((reqd_work_group_size(8, 1, 1))) void k(__global float *x) { x[0] = 1; }";
void f(cl::Context &c, cl::CommandQueue &q, cl::Buffer &b, int n) {
    cl::Program p(c, source);
    p.build();
    cl::Kernel k(p, "k");
    k.setArg(0, b);
    q.enqueueNDRangeKernel(k, cl::NullRange, cl::NDRange(n, n), cl::NDRange(8));
    q.enqueueNDRangeKernel(k, cl::NullRange, cl::NDRange(n), cl::NDRange(8, 1));
    q.finish();
}
// bad and 1 is what the others have
const char *source = "__kernel __attribute__((reqd_work_group_size(8, 8, 1))) void k(__global float *x) { x[0] = 1; }";
void f(cl::Context &c, cl::CommandQueue &q, cl::Buffer &b, int n) {
    cl::Program p(c, source);
    p.build();
    cl::Kernel k(p, "k");
    k.setArg(0, b);
    q.enqueueNDRangeKernel(k, cl::NullRange, cl::NDRange(n, n), cl::NDRange(8)); // expect: OCL405
    q.finish();
}
"""

OCL304 = r"""
// bad nothing keeps it
void f(cl_command_queue q, cl_kernel k, size_t n) {
    cl_event ev = nullptr;
    clEnqueueNDRangeKernel(q, k, 1, nullptr, &n, nullptr, 0, nullptr, &ev); // expect: OCL304
    clWaitForEvents(1, &ev);
}
// good kept in a pair, a tuple, an entry of a map
struct Runtime {
    void run(cl_command_queue q, cl_kernel k, size_t n, std::vector<std::pair<size_t, cl_event>> &events) {
        for (size_t part = 0; part < 4; ++part) {
            cl_event ev = nullptr;
            clEnqueueNDRangeKernel(q, k, 1, nullptr, &n, nullptr, 0, nullptr, &ev);
            events.push_back(std::make_pair(part, ev));
        }
    }
    void run(cl_command_queue q, cl_kernel k, size_t n, std::vector<std::tuple<int, cl_event>> &events) {
        cl_event ev = nullptr;
        clEnqueueNDRangeKernel(q, k, 1, nullptr, &n, nullptr, 0, nullptr, &ev);
        events.push_back(std::make_tuple(1, ev));
    }
    void run(cl_command_queue q, cl_kernel k, size_t n, std::map<int, cl_event> &events) {
        cl_event ev = nullptr;
        clEnqueueNDRangeKernel(q, k, 1, nullptr, &n, nullptr, 0, nullptr, &ev);
        events.insert(std::make_pair(1, ev));
    }
};
"""

OCL108 = r"""
// bad two buffers over one memory
void f(cl_context c, cl_command_queue q, size_t n) {
    float *x = (float *)malloc(n);
    cl_mem a = clCreateBuffer(c, CL_MEM_USE_HOST_PTR, n, x, NULL);
    cl_mem b = clCreateBuffer(c, CL_MEM_USE_HOST_PTR, n, x, NULL);
    clEnqueueCopyBuffer(q, a, b, 0, 0, n, 0, NULL, NULL); // expect: OCL108
    clFinish(q);
}
// good one image, made in one of two ways
cl_mem image(cl_context c, const cl_image_desc *d, size_t n, void *x) {
#ifdef CL_VERSION_1_2
    return clCreateImage(c, CL_MEM_USE_HOST_PTR, NULL, d, x, NULL);
#else
    return clCreateImage2D(c, CL_MEM_USE_HOST_PTR, NULL, n, n, 0, x, NULL);
#endif
}
void f(cl_context c, cl_command_queue q, const cl_image_desc *d, size_t n, const size_t *o, const size_t *r) {
    float *x = (float *)malloc(n), *y = (float *)malloc(n);
    cl_mem a = image(c, d, n, x), b = image(c, d, n, y);
    clEnqueueCopyImage(q, a, b, o, o, r, 0, NULL, NULL);
    clEnqueueCopyImage(q, b, a, o, o, r, 0, NULL, NULL);
    clFinish(q);
}
"""

OCL207 = r"""
// bad a kernel writes it
const char *source = "__kernel void twice(__global float *x) { x[get_global_id(0)] *= 2.0f; }";
float f(cl_context c, cl_command_queue q, cl_device_id dev, size_t n) {
    float *x = (float *)malloc(4 * n);
    cl_mem a = clCreateBuffer(c, CL_MEM_USE_HOST_PTR, 4 * n, x, NULL);
    cl_program p = clCreateProgramWithSource(c, 1, &source, NULL, NULL);
    clBuildProgram(p, 1, &dev, NULL, NULL, NULL);
    cl_kernel k = clCreateKernel(p, "twice", NULL);
    clSetKernelArg(k, 0, sizeof a, &a);
    clEnqueueNDRangeKernel(q, k, 1, NULL, &n, NULL, 0, NULL, NULL);
    clFinish(q);
    return x[0]; // expect: OCL207
}
// good an input of a kernel that nothing is known of, one of several
void check(const float *a, const float *b, const float *c, size_t n);
void f(cl_context c, cl_command_queue q, cl_kernel k, float *out, size_t n) {
    float *in[2];
    cl_mem b[3];
    in[0] = (float *)malloc(4 * n);
    in[1] = (float *)malloc(4 * n);
    b[0] = clCreateBuffer(c, CL_MEM_USE_HOST_PTR, 4 * n, in[0], NULL);
    b[1] = clCreateBuffer(c, CL_MEM_COPY_HOST_PTR, 4 * n, in[1], NULL);
    b[2] = clCreateBuffer(c, CL_MEM_USE_HOST_PTR, 4 * n, out, NULL);
    clSetKernelArg(k, 0, sizeof b[0], &b[0]);
    clSetKernelArg(k, 1, sizeof b[1], &b[1]);
    clSetKernelArg(k, 2, sizeof b[2], &b[2]);
    clEnqueueNDRangeKernel(q, k, 1, NULL, &n, NULL, 0, NULL, NULL);
    float *data = (float *)clEnqueueMapBuffer(q, b[2], CL_TRUE, CL_MAP_READ, 0, 4 * n, 0, NULL, NULL, NULL);
    check(in[0], in[1], data, n);
    clEnqueueUnmapMemObject(q, b[2], data, 0, NULL, NULL);
    clFinish(q);
}
"""

TABLES = {
    "OCL206": OCL206,
    "OCL211": OCL211,
    "OCL306": OCL306,
    "OCL405": OCL405,
    "OCL304": OCL304,
    "OCL108": OCL108,
    "OCL207": OCL207,
    "OCL308": OCL308,
    "OCL101": OCL101,
    "OCL201": OCL201,
    "OCL203": OCL203,
    "OCL316": OCL316,
}


@pytest.mark.parametrize(("code", "chunk"), [row for code, text in TABLES.items() for row in cases(code, text, 1)])
def test_cpp(code: str, chunk: str) -> None:
    verify(code, chunk, "c++")
