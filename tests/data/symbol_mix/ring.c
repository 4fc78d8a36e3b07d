// NOLINTBEGIN
#include <stdlib.h>

#include "bits.h"
#include "parts.h"

struct node {
  unsigned value;
  struct node* next;
};

static unsigned step(struct node** at, unsigned by) {
  for (unsigned i = 0; i < by % 7; ++i) {
    *at = (*at)->next;
  }
  return (*at)->value;
}

static struct node* insert(struct node* after, unsigned value) {
  struct node* added = malloc(sizeof(struct node));
  if (added == NULL) {
    abort();
  }
  added->value = blend(value, after == NULL ? 0 : after->value);
  added->next = after == NULL ? added : after->next;
  if (after != NULL) {
    after->next = added;
  }
  return added;
}

static __attribute__((noinline)) void finish(struct node* ring) {
  struct node* at = ring->next;
  while (at != ring) {
    struct node* next = at->next;
    free(at);
    at = next;
  }
  free(ring);
}

unsigned ring_sum(unsigned seed, unsigned rounds) {
  struct node* ring = NULL;
  for (unsigned i = 0; i < 16; ++i) {
    ring = insert(ring, seed + i);
  }
  unsigned sum = 0;
  for (unsigned i = 0; i < rounds; ++i) {
    sum += blend(step(&ring, sum), i);
    if (sum % 97 == 0) {
      ring = insert(ring, sum);
    }
  }
  finish(ring);
  return sum;
}
// NOLINTEND
