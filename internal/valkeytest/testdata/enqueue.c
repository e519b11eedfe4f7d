/* A module with the command EMQ.ENQUEUE, for tests: its order of checks is the
 * call's shape, the row's key, the fence, the namespace. It declares the few
 * functions of the module interface that it uses, and needs no header of the
 * server's. The version that the fence must have is the module's argument. */
#include <stddef.h>
#include <string.h>

typedef struct Ctx Ctx;
typedef struct Str Str;
typedef struct Reply Reply;
typedef int (*CmdFunc)(Ctx *, Str **, int);

static int (*GetApi)(const char *, void *);
static void (*SetModuleAttribs)(Ctx *, const char *, int, int);
static int (*CreateCommand)(Ctx *, const char *, CmdFunc, const char *, int, int, int);
static int (*ReplyWithError)(Ctx *, const char *);
static int (*ReplyWithLongLong)(Ctx *, long long);
static int (*ReplicateVerbatim)(Ctx *);
static const char *(*StringPtrLen)(const Str *, size_t *);
static Reply *(*Call)(Ctx *, const char *, const char *, ...);
static const char *(*CallReplyStringPtr)(Reply *, size_t *);
static long long (*CallReplyInteger)(Reply *);
static void (*FreeCallReply)(Reply *);

static char version[64];

static int is(const Str *s, const char *want) {
	size_t n;
	const char *p = StringPtrLen(s, &n);
	return n == strlen(want) && memcmp(p, want, n) == 0;
}

/* row: emq:{<q>}:job:<id>, pending: emq:{<q>}:pending, of the same q. */
static int row_is_of(const Str *row, const Str *pending, const Str *id) {
	static const char infix[] = "}:job:", suffix[] = "}:pending";
	size_t nrow, npending, nid, q;
	const char *r = StringPtrLen(row, &nrow), *p = StringPtrLen(pending, &npending), *i = StringPtrLen(id, &nid);
	if (npending < 5 + sizeof suffix - 1 || memcmp(p, "emq:{", 5) != 0) return 0;
	q = npending - 5 - (sizeof suffix - 1);
	if (memcmp(p + 5 + q, suffix, sizeof suffix - 1) != 0) return 0;
	if (nrow != 5 + q + sizeof infix - 1 + nid) return 0;
	return memcmp(r, p, 5 + q) == 0 && memcmp(r + 5 + q, infix, sizeof infix - 1) == 0 &&
		memcmp(r + nrow - nid, i, nid) == 0;
}

static int fence_holds(Ctx *ctx) {
	size_t n = 0;
	Reply *r = Call(ctx, "GET", "c", "{emq}:version");
	const char *p = r ? CallReplyStringPtr(r, &n) : NULL;
	int ok = p && n == strlen(version) && memcmp(p, version, n) == 0;
	if (r) FreeCallReply(r);
	return ok;
}

static int enqueue(Ctx *ctx, Str **argv, int argc) {
	size_t n;
	const char *id;
	Reply *r;
	long long exists;
	if (argc != 6 || !is(argv[1], "2")) return ReplyWithError(ctx, "ERR test module: shape");
	if (!row_is_of(argv[2], argv[3], argv[4])) return ReplyWithError(ctx, "ERR test module: row");
	if (!fence_holds(ctx)) return ReplyWithError(ctx, "ERR test module: fence");
	id = StringPtrLen(argv[4], &n);
	if (n < 3 || memcmp(id, "JOB", 3) != 0) return ReplyWithError(ctx, "EMQKIND job id must be JOB-namespaced");
	r = Call(ctx, "EXISTS", "s", argv[2]);
	exists = CallReplyInteger(r);
	FreeCallReply(r);
	if (exists) return ReplyWithLongLong(ctx, 0);
	FreeCallReply(Call(ctx, "HSET", "scccccs", argv[2], "state", "pending", "attempts", "0", "payload", argv[5]));
	FreeCallReply(Call(ctx, "ZADD", "scs", argv[3], "0", argv[4]));
	ReplicateVerbatim(ctx);
	return ReplyWithLongLong(ctx, 1);
}

int RedisModule_OnLoad(Ctx *ctx, Str **argv, int argc) {
	size_t n;
	const char *p;
	memcpy(&GetApi, (void **)ctx, sizeof GetApi);
#define API(name) \
	if (GetApi("RedisModule_" #name, (void *)&name) != 0) return 1
	API(SetModuleAttribs);
	API(CreateCommand);
	API(ReplyWithError);
	API(ReplyWithLongLong);
	API(ReplicateVerbatim);
	API(StringPtrLen);
	API(Call);
	API(CallReplyStringPtr);
	API(CallReplyInteger);
	API(FreeCallReply);
	SetModuleAttribs(ctx, "emqtest", 1, 1);
	if (argc != 1) return 1;
	p = StringPtrLen(argv[0], &n);
	if (n >= sizeof version) return 1;
	memcpy(version, p, n);
	return CreateCommand(ctx, "emq.enqueue", enqueue, "write deny-oom", 2, 3, 1);
}
