/* Orders of a shop. */
#include <stdio.h>
#include "orders.h"
#include MACRO_HEADER

#define MAX_LINES 200
#define GUARD_ONLY
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define LONG_MACRO(x) \
	do { \
		use_macro(x); \
	} while (0)

struct order;

struct line {
	char *article;
	struct { int euro, cent; } price;
	int (*compare)(const struct line *, const struct line *);
};

typedef struct {
	struct line *lines;
	size_t count;
} order_list, *order_list_ptr;

typedef struct node { struct node *next; } node_t;
typedef int (*visitor)(struct order *o, void *data);
typedef unsigned long amount_t;

enum status { OPEN, DONE };
typedef enum { RED, GREEN = 4 } color;
union bits { int i; float f; };

extern int verbose;
static const char *const names[] = {
	"open",
	"done",
};
int counter = 0, other;
int (*callback)(int);

static inline int add_line(struct order *o, const struct line *l);
void free_order(struct order *o), reset(void);

#ifdef WITH_TAX
int tax(struct order *o)
{
	return tax_of(o->total, MAX_LINES);
}
#else
int tax(struct order *o) { return 0; }
#endif

/* Adds a line. */
static inline int
add_line(struct order *o, // the order
         const struct line *l)
{
	struct local { int n; } x;
	return list_append(&o->lines, l);
}

struct line *find_line(order_list *list, visitor visit, ...) { return scan_lines(list, visit); }

void (*signal_handler(int sig, void (*func)(int)))(int) { return install(sig, func); }

int größe(int länge) { return länge; }
