/* ram_disk_inside.h: what ram_disk.c (calls) and ram_disk_cut.c (what a cut leaves) share. */
#ifndef SKILLRT_TESTS_RAM_DISK_INSIDE_H
#define SKILLRT_TESTS_RAM_DISK_INSIDE_H

#include "support/ram_disk.h"

enum { RAM_NAME = 96, RAM_FILES = 64, RAM_FIRST = 3 };

struct ram_node;

struct ram_name {
  char text[RAM_NAME];
  struct ram_node *node;
};

struct ram_names {
  struct ram_name *list;
  size_t count;
};

struct ram_change { /* `gone` (if not "") goes and `came` (if it has a node) comes, at once */
  char gone[RAM_NAME];
  struct ram_name came;
};

struct ram_node {
  struct ram_node *next; /* of all that the disk ever had */
  bool folder;
  uint64_t number;
  int locked; /* the descriptor; 0: none */
  char *bytes, *synced;
  size_t length, room, synced_length;
  struct ram_names names, synced_names;
  struct ram_change *changes; /* since the folder was synced, in order */
  size_t change_count;
};

struct ram_file {
  struct ram_node *node; /* NULL: free */
  int flags;
  int64_t offset;
};

struct ram_disk {
  struct sys sys;
  struct ram_node *root, *nodes;
  struct ram_file files[RAM_FILES];
  uint64_t numbers;
  unsigned boot;
  int open;
};

void *ram_grow(void *block, size_t size);
struct ram_node *ram_node_new(struct ram_disk *, bool folder);
void ram_names_put(struct ram_names *, const char *text, struct ram_node *);
void ram_names_drop(struct ram_names *, const char *text);
void ram_change_apply(struct ram_names *, const struct ram_change *);

#endif
