/* The event of the upload stands in the wait list of the kernel, that of the kernel in the wait list of the download.
 *
 *     $ kexec-lint check examples/captured_event.c
 */
#include <CL/cl.h>

cl_int double_all(cl_context context, cl_device_id device, cl_kernel kernel, float *values, size_t count) {
    cl_int err;
    size_t bytes = count * sizeof(*values);
    cl_command_queue queue = clCreateCommandQueue(context, device, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, &err);
    if (err != CL_SUCCESS) return err;
    cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, bytes, NULL, &err);
    if (err != CL_SUCCESS) return err;
    cl_event written, done;

    err = clSetKernelArg(kernel, 0, sizeof(buffer), &buffer);
    err |= clEnqueueWriteBuffer(queue, buffer, CL_FALSE, 0, bytes, values, 0, NULL, &written);
    err |= clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &count, NULL, 1, &written, &done);
    err |= clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, bytes, values, 1, &done, NULL);

    clReleaseEvent(written);
    clReleaseEvent(done);
    clReleaseMemObject(buffer);
    clReleaseCommandQueue(queue);
    return err;
}
