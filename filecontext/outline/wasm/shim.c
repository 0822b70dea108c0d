// The module that outline runs: tree-sitter with its grammars. The host calls strata_parse with a text, then strata_walk,
// and reads the nodes of the tree from the buffer at strata_nodes, in order of their starts, a parent before its children.
// The module imports nothing, so it can neither read files nor a clock.
#include <stdint.h>
#include <stdlib.h>
#include <tree_sitter/api.h>

#define EXPORT(name) __attribute__((export_name(name)))

const TSLanguage *tree_sitter_c(void);
const TSLanguage *tree_sitter_cpp(void);
const TSLanguage *tree_sitter_c_sharp(void);
const TSLanguage *tree_sitter_java(void);
const TSLanguage *tree_sitter_javascript(void);
const TSLanguage *tree_sitter_php(void);
const TSLanguage *tree_sitter_python(void);
const TSLanguage *tree_sitter_ruby(void);
const TSLanguage *tree_sitter_rust(void);
const TSLanguage *tree_sitter_tsx(void);
const TSLanguage *tree_sitter_typescript(void);

// The order is that of the names of the languages, as grammars.go has them.
static const TSLanguage *(*const languages[])(void) = {
    tree_sitter_c,    tree_sitter_cpp,    tree_sitter_c_sharp, tree_sitter_java, tree_sitter_javascript, tree_sitter_php,
    tree_sitter_python, tree_sitter_ruby, tree_sitter_rust,    tree_sitter_tsx,  tree_sitter_typescript,
};

// Node is one named node. The host reads it as four little-endian words.
typedef struct {
  uint16_t kind;   // 0xffff: text that is not part of the grammar
  uint16_t field;  // of its parent, 0 for none
  uint32_t start;  // offset in bytes
  uint32_t end;
  uint32_t depth;  // number of named ancestors
} Node;

static TSParser *parser;
static TSTree *tree;
static Node *nodes;
static uint32_t capacity;

static uint32_t exhausted;

// strata_exhausted returns the address of a word that is 1 after a trap because memory could not be had.
EXPORT("strata_exhausted") const uint32_t *strata_exhausted(void) { return &exhausted; }

static void *checked(void *memory) {
  if (memory == NULL) {
    exhausted = 1;
    __builtin_trap();
  }
  return memory;
}

static void *allocate(size_t size) { return checked(malloc(size ? size : 1)); }

static void *allocate_zeroed(size_t count, size_t size) { return checked(calloc(count ? count : 1, size ? size : 1)); }

static void *reallocate(void *memory, size_t size) { return checked(realloc(memory, size ? size : 1)); }

EXPORT("strata_alloc") void *strata_alloc(uint32_t size) {
  ts_set_allocator(allocate, allocate_zeroed, reallocate, free);
  return allocate(size);
}

EXPORT("strata_free") void strata_free(void *memory) { free(memory); }

static const TSLanguage *language(uint32_t index) {
  return index < sizeof languages / sizeof *languages ? languages[index]() : NULL;
}

EXPORT("strata_kinds") uint32_t strata_kinds(uint32_t index) { return ts_language_symbol_count(language(index)); }

EXPORT("strata_kind") const char *strata_kind(uint32_t index, uint32_t kind) {
  return ts_language_symbol_name(language(index), (TSSymbol)kind);
}

EXPORT("strata_fields") uint32_t strata_fields(uint32_t index) { return ts_language_field_count(language(index)); }

EXPORT("strata_field") const char *strata_field(uint32_t index, uint32_t field) {
  return ts_language_field_name_for_id(language(index), (TSFieldId)field);
}

static void release(void) {
  ts_tree_delete(tree);
  tree = NULL;
  free(nodes);
  nodes = NULL;
  capacity = 0;
}

// strata_parse parses a text and returns 0 if that failed, 1 if the tree has syntax errors and 2 if it has none.
EXPORT("strata_parse") uint32_t strata_parse(uint32_t index, const char *text, uint32_t length) {
  release();
  if (parser == NULL) parser = ts_parser_new();
  ts_parser_reset(parser);
  if (!ts_parser_set_language(parser, language(index))) return 0;
  tree = ts_parser_parse_string(parser, NULL, text, length);
  if (tree == NULL) return 0;
  return ts_node_has_error(ts_tree_root_node(tree)) ? 1 : 2;
}

// keep appends a node and reports whether there is room for it.
static int keep(uint32_t count, uint32_t limit, Node node) {
  if (count >= limit) return 0;
  if (count == capacity) {
    capacity = capacity ? capacity * 2 : 4096;
    nodes = reallocate(nodes, capacity * sizeof *nodes);
  }
  nodes[count] = node;
  return 1;
}

// strata_walk writes at most limit named nodes into the buffer, releases the tree, and returns their number.
EXPORT("strata_walk") uint32_t strata_walk(uint32_t limit) {
  if (tree == NULL) return 0;
  TSTreeCursor cursor = ts_tree_cursor_new(ts_tree_root_node(tree));
  uint32_t count = 0, depth = 0;
  int inside = 1;
  while (inside) {
    TSNode at = ts_tree_cursor_current_node(&cursor);
    int named = ts_node_is_named(at);
    if (named) {
      Node node = {ts_node_symbol(at), ts_tree_cursor_current_field_id(&cursor), ts_node_start_byte(at), ts_node_end_byte(at), depth};
      if (!keep(count, limit, node)) break;
      count++;
    }
    // Anonymous nodes, keywords and signs, have no children.
    if (named && ts_tree_cursor_goto_first_child(&cursor)) {
      depth++;
      continue;
    }
    while (!ts_tree_cursor_goto_next_sibling(&cursor)) {
      if (!ts_tree_cursor_goto_parent(&cursor)) {
        inside = 0;
        break;
      }
      depth--;
    }
  }
  ts_tree_cursor_delete(&cursor);
  ts_tree_delete(tree);
  tree = NULL;
  return count;
}

EXPORT("strata_nodes") const Node *strata_nodes(void) { return nodes; }

// The functions that libc would import from the host: there is no clock and no file. A failed assertion traps.

#define WASI(name) __imported_wasi_snapshot_preview1_##name

enum { BAD_FILE = 8 };

int32_t WASI(clock_time_get)(int32_t id, int64_t precision, int32_t result) {
  *(uint64_t *)result = 0;
  return 0;
}

int32_t WASI(fd_close)(int32_t fd) { return BAD_FILE; }

int32_t WASI(fd_seek)(int32_t fd, int64_t offset, int32_t whence, int32_t result) { return BAD_FILE; }

int32_t WASI(fd_write)(int32_t fd, int32_t chunks, int32_t count, int32_t result) { return BAD_FILE; }

_Noreturn void __assert_fail(const char *condition, const char *file, int line, const char *function) { __builtin_trap(); }
