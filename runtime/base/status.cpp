// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "status.h"

#include <cstdarg>
#include <cstdio>

#include "text.h"

namespace executorch::backends::et_xnnpack {
namespace {

// Never destroyed, as the backend.
const std::string& kNothing = *new std::string;
const std::string& kNoMemory = *new std::string("memory ran out");
const std::string& kThrown = *new std::string("something threw");

std::unique_ptr<const std::string> copy_of(const std::unique_ptr<const std::string>& text) {
  return text == nullptr ? nullptr : std::make_unique<const std::string>(*text);
}

} // namespace

Status::Status(Error code, std::string_view message)
    : code_(code), message_(std::make_unique<const std::string>(printable(message))) {}

Status::Status(const Status& other) : code_(other.code_), message_(copy_of(other.message_)) {}

Status& Status::operator=(const Status& other) {
  message_ = copy_of(other.message_);
  code_ = other.code_;
  return *this;
}

const std::string& Status::message() const {
  if (message_ != nullptr) {
    return *message_;
  }
  return ok() ? kNothing : code_ == Error::MemoryAllocationFailed ? kNoMemory : kThrown;
}

Status Status::in(const std::string& where) && {
  if (!ok()) {
    message_ = std::make_unique<const std::string>(printable(where) + ": " + message());
  }
  return std::move(*this);
}

Status failure(Error code, const char* format, ...) {
  char buffer[512];
  va_list args;
  va_start(args, format);
  std::vsnprintf(buffer, sizeof(buffer), format, args);
  va_end(args);
  return Status(code, buffer);
}

} // namespace executorch::backends::et_xnnpack
