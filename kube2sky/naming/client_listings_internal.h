/* Tracks the lists of one kind of objects, one of each namespace or one of all: which objects the
 * current list has named, and whether a list may remove the others. A list without any object is
 * not believed (inventory.h). Plain data; single-threaded. */
#ifndef KUBE2SKY_NAMING_CLIENT_LISTINGS_INTERNAL_H
#define KUBE2SKY_NAMING_CLIENT_LISTINGS_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct client_listing {
    const char *ns; /* "": all namespaces; borrowed */
    uint32_t generation;
    bool is_listing;
    bool is_listed;   /* completely, and believed, at least once */
    bool has_any;     /* the current list has named an object */
    bool wants_first; /* the last list had no object */
    bool is_lacking;  /* the server refuses it */
};

struct client_listings {
    struct client_listing *items;
    size_t count;
};

/* count 0: one list has all. */
void client_listings_init(struct client_listings *listings, const char *const *namespaces,
                          size_t count);
void client_listings_fini(struct client_listings *listings);

/* Returns the list of the namespace, or that of all; NULL: the namespace is not listed. */
struct client_listing *client_listings_find(const struct client_listings *listings, const char *ns);

/* Return whether a list is being read; whether all have been read, or are refused; and whether all
 * objects are known. */
bool client_listings_is_any_open(const struct client_listings *listings);
bool client_listings_are_read(const struct client_listings *listings);
bool client_listings_are_known(const struct client_listings *listings);

/* Note the events of a list. The last two return true if objects of other generations are gone:
 * the caller removes them. believes_empty: the list may be empty. */
void client_listing_begin(struct client_listing *listing);
bool client_listing_end(struct client_listing *listing, bool believes_empty);
bool client_listing_came(struct client_listing *listing);

#endif
