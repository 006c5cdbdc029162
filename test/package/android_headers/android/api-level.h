// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
// What dependencies ask of Android's C library when tools/clang-check --android parses them with that of Linux.
#pragma once

#define __ANDROID_API__ __ANDROID_MIN_SDK_VERSION__
