/* For tests: the two CUDA runtime symbols that a window looks for, with answers to order. */
int fake_cuda_queued = 0;
int fake_cuda_syncs = 0;
int fake_cuda_code = 0;

int cudaDeviceSynchronize(void) {
  ++fake_cuda_syncs;
  fake_cuda_queued = 0;
  return fake_cuda_code;
}

int cudaStreamQuery(void* stream) {
  (void)stream;
  return fake_cuda_queued ? 600 : 0;
}
