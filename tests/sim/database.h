/* database.h: a database for the simulator: what it knows that no worker is told. */
#ifndef SKILLRT_SIM_DATABASE_H
#define SKILLRT_SIM_DATABASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct database;

#define DATABASE "postgres://sim@db/fleet"

/* A database without tables, in the arena. */
struct database *database_new(bool harmed);
/* This process sends a call: wrong, if it may not any more. False: it cannot know, as the database
 * has lost since what the process had committed. */
bool database_sends(const char *label);
/* How often the database has lost what was committed. */
unsigned database_losses(void);
/* The rows of the journal that it has lost; false: there are no more. */
bool database_lost(size_t row, const char **lines, size_t *size);
/* Programs of this process are ended at this time of the world. */
void database_leash(int64_t until_ns);

#endif
