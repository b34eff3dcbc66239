/* -translate-corefile: what a Corefile, CoreDNS's configuration, says in flags of skydns and
 * kube2sky, and what of it has no counterpart. A program of its own: nothing else runs. */
#ifndef SKYDNS_COREFILE_COREFILE_H
#define SKYDNS_COREFILE_COREFILE_H

/* Prints the translation of the file. Returns the exit status: 0; 3 if something of the file
 * is not carried over, which comments say; 2 and a line on stderr if the file cannot be read or
 * makes no sense; 1 if stdout cannot be written. {$VARIABLES} are this
 * process's. */
int corefile_main(const char *path);

#endif
