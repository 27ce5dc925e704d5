/* libpq-fe.h: what csrc/store/postgres*.c asks of libpq, for the simulator, where database.c
 * answers. */
#ifndef SKILLRT_SIM_LIBPQ_H
#define SKILLRT_SIM_LIBPQ_H

typedef struct pg_conn PGconn;
typedef struct pg_result PGresult;
typedef unsigned Oid;
typedef enum { CONNECTION_OK, CONNECTION_BAD } ConnStatusType;
typedef enum { PGRES_COMMAND_OK, PGRES_TUPLES_OK, PGRES_FATAL_ERROR } ExecStatusType;
typedef enum { PQERRORS_DEFAULT, PQERRORS_VERBOSE } PGVerbosity;

enum { PG_DIAG_SQLSTATE = 'C' };

PGconn *PQconnectdbParams(const char *const *names, const char *const *values, int expand);
void PQreset(PGconn *);
PGVerbosity PQsetErrorVerbosity(PGconn *, PGVerbosity);
int PQconnectionNeedsPassword(const PGconn *);
ConnStatusType PQstatus(const PGconn *);
const char *PQerrorMessage(const PGconn *);
void PQsetNoticeProcessor(PGconn *, void (*)(void *, const char *), void *);
void PQfinish(PGconn *);
PGresult *PQexecParams(PGconn *, const char *statement, int count, const Oid *types,
                       const char *const *values, const int *lengths, const int *formats,
                       int format);
PGresult *PQprepare(PGconn *, const char *name, const char *statement, int count, const Oid *types);
PGresult *PQexecPrepared(PGconn *, const char *name, int count, const char *const *values,
                         const int *lengths, const int *formats, int format);
ExecStatusType PQresultStatus(const PGresult *);
const char *PQresultErrorMessage(const PGresult *);
const char *PQresultErrorField(const PGresult *, int field);
char *PQcmdTuples(PGresult *);
int PQntuples(const PGresult *);
char *PQgetvalue(const PGresult *, int row, int column);
int PQgetlength(const PGresult *, int row, int column);
int PQgetisnull(const PGresult *, int row, int column);
enum { PG_COPYRES_TUPLES = 2 };
PGresult *PQcopyResult(const PGresult *, int flags);
void PQclear(PGresult *);

#endif
