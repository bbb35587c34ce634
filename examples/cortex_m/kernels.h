#pragma once

// The operators of kernels.cpp are known to LibTorch under the namespace q8 as soon as the program or plugin
// that holds them is loaded. All values are int8; those of rank 4 lie channels-last in memory. A Factor of
// requantize.h is the list [value, shift], or a column of an int32 tensor [2, channels].
//
//   conv2d(x, weight, bias, factors, stride, padding, dilation, groups, x_zero, y_zero, y_min, y_max)
//     weight [O, kH, kW, I / groups], bias int32 [O], factors [2, 1] or [2, O]
//   depthwise_conv2d(the same without groups)
//     weight [1, kH, kW, O]
//   linear(x, weight, bias, factors, x_zero, y_zero, y_min, y_max)
//     weight [O, I], bias int32 [O], factors [2, 1] or [2, O]
//   add(a, b, a_zero, a_factor, b_zero, b_factor, y_factor, y_zero, y_min, y_max)
//     y_factor takes back the kAddBits that the kernel raises both operands by
//   mul(a, b, a_zero, b_zero, y_factor, y_zero, y_min, y_max)
//   avg_pool2d(x, kernel, stride, padding, keepdim, x_zero, y_factor, y_zero, y_min, y_max)
//     y_factor holds the division; without keepdim the result is [N, C] of one window
//   requantize(x, x_zero, y_factor, y_zero, y_min, y_max)
//
// They are plain loops, to be read beside the library for the device, not to be fast.
