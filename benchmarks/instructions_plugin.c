// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
//
// A plugin of qemu's user emulation that counts executed instructions by address. The emulated program divides its run into
// phases by a system call that does not exist (kPhaseEnds); at the end of each, lines "<phase> <address> <instructions>"
// go to the file in INSTRUCTIONS_OUTPUT and the counts start again from 0. For a single thread.
//
// What is used of qemu's plugin interface is declared here, because Debian has no package with its header.
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

typedef uint64_t qemu_plugin_id_t;
struct qemu_plugin_tb;
struct qemu_info_t;
enum { QEMU_PLUGIN_CB_NO_REGS = 0 };

void qemu_plugin_register_vcpu_tb_trans_cb(
    qemu_plugin_id_t id, void (*translated)(qemu_plugin_id_t id, struct qemu_plugin_tb* block));
void qemu_plugin_register_vcpu_tb_exec_cb(
    struct qemu_plugin_tb* block, void (*executed)(unsigned int cpu, void* data), int flags, void* data);
void qemu_plugin_register_vcpu_syscall_cb(
    qemu_plugin_id_t id,
    void (*called)(
        qemu_plugin_id_t id,
        unsigned int cpu,
        int64_t number,
        uint64_t a1,
        uint64_t a2,
        uint64_t a3,
        uint64_t a4,
        uint64_t a5,
        uint64_t a6,
        uint64_t a7,
        uint64_t a8));
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb* block);
uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb* block);

__attribute__((visibility("default"))) int qemu_plugin_version = 1;

enum { kPhaseEnds = 0x4554 }; // as in examples/cpp/main.cpp

// Instructions that run one after the other. qemu may translate the same ones several times.
struct Block {
  struct Block* next;
  uint64_t address;
  uint64_t length; // in instructions
  uint64_t times;
};

static struct Block* blocks;
static FILE* output;

static void executed(unsigned int cpu, void* data) {
  (void)cpu;
  struct Block* block = data;
  ++block->times;
}

static void translated(qemu_plugin_id_t id, struct qemu_plugin_tb* tb) {
  (void)id;
  struct Block* block = malloc(sizeof *block);
  if (block == NULL) {
    fputs("no memory to count instructions\n", stderr);
    abort();
  }
  block->next = blocks;
  block->address = qemu_plugin_tb_vaddr(tb);
  block->length = qemu_plugin_tb_n_insns(tb);
  block->times = 0;
  blocks = block;
  qemu_plugin_register_vcpu_tb_exec_cb(tb, executed, QEMU_PLUGIN_CB_NO_REGS, block);
}

static void called(
    qemu_plugin_id_t id,
    unsigned int cpu,
    int64_t number,
    uint64_t phase,
    uint64_t a2,
    uint64_t a3,
    uint64_t a4,
    uint64_t a5,
    uint64_t a6,
    uint64_t a7,
    uint64_t a8) {
  (void)id, (void)cpu, (void)a2, (void)a3, (void)a4, (void)a5, (void)a6, (void)a7, (void)a8;
  if (number != kPhaseEnds) {
    return;
  }
  for (struct Block* block = blocks; block != NULL; block = block->next) {
    if (block->times != 0) {
      fprintf(
          output,
          "%llu %llx %llu\n",
          (unsigned long long)phase,
          (unsigned long long)block->address,
          (unsigned long long)(block->times * block->length));
      block->times = 0;
    }
  }
  fflush(output);
}

__attribute__((visibility("default"))) int qemu_plugin_install(
    qemu_plugin_id_t id, const struct qemu_info_t* info, int count, char** arguments) {
  (void)info, (void)count, (void)arguments;
  const char* path = getenv("INSTRUCTIONS_OUTPUT");
  output = path == NULL ? NULL : fopen(path, "w");
  if (output == NULL) {
    fputs("INSTRUCTIONS_OUTPUT does not name a file that can be written\n", stderr);
    return 1;
  }
  qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
  qemu_plugin_register_vcpu_syscall_cb(id, called);
  return 0;
}
