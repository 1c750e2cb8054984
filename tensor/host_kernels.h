// run_on_host, in parts.
#pragma once

#include <quarry/tensor/work.h>

namespace quarry {

void copy_on_host(const Work& work);         // copy, transfer, fill
void elementwise_on_host(const Work& work);  // add .. relu, arange, random
void reduce_on_host(const Work& work);       // sum .. max, matmul

}  // namespace quarry
