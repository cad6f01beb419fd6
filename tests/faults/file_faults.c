/* Loaded before libc: counts what a process does to files, and at a chosen point kills it or lets the disk be full.

   faults_arm(n, mode): the n-th operation from now on fails; mode 'k': SIGKILL, in the middle of a write;
   mode 'f': this and every later operation that needs space gets ENOSPC. faults_count(): operations since. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

static long count = 0;
static long at = -1;
static int mode = 0;

void faults_arm(long n, int how) {
    count = 0;
    at = n;
    mode = how;
}

long faults_count(void) { return count; }

/* 1: fail for want of space. Kills, if it is time: `fd` gets half of what was to be written before. */
static int step(int needs_space, int fd, const void* data, size_t size, off_t place) {
    if (mode == 0) return 0;
    ++count;
    if (mode == 'k' && count == at) {
        static ssize_t (*real)(int, const void*, size_t, off_t);
        static ssize_t (*plain)(int, const void*, size_t);
        if (!real) real = dlsym(RTLD_NEXT, "pwrite64");
        if (!plain) plain = dlsym(RTLD_NEXT, "write");
        if (data && size > 1) {
            if (place >= 0) real(fd, data, size / 2, place);
            else plain(fd, data, size / 2);
        }
        kill(getpid(), SIGKILL);
    }
    if (mode == 'f' && count >= at && needs_space) {
        errno = ENOSPC;
        return 1;
    }
    return 0;
}

#define REAL(type, name, ...) \
    static type (*real)(__VA_ARGS__); \
    if (!real) real = dlsym(RTLD_NEXT, name)

ssize_t write(int fd, const void* data, size_t size) {
    REAL(ssize_t, "write", int, const void*, size_t);
    if (fd > 2 && step(1, fd, data, size, -1)) return -1;
    return real(fd, data, size);
}
ssize_t pwrite64(int fd, const void* data, size_t size, off_t place) {
    REAL(ssize_t, "pwrite64", int, const void*, size_t, off_t);
    if (step(1, fd, data, size, place)) return -1;
    return real(fd, data, size, place);
}
ssize_t pwrite(int fd, const void* data, size_t size, off_t place) { return pwrite64(fd, data, size, place); }
int mkdir(const char* path, mode_t rights) {
    REAL(int, "mkdir", const char*, mode_t);
    if (step(1, -1, NULL, 0, -1)) return -1;
    return real(path, rights);
}
int linkat(int folder, const char* from, int other, const char* to, int flags) {
    REAL(int, "linkat", int, const char*, int, const char*, int);
    if (step(1, -1, NULL, 0, -1)) return -1;
    return real(folder, from, other, to, flags);
}
int rename(const char* from, const char* to) {
    REAL(int, "rename", const char*, const char*);
    if (step(0, -1, NULL, 0, -1)) return -1;
    return real(from, to);
}
int unlink(const char* path) {
    REAL(int, "unlink", const char*);
    if (step(0, -1, NULL, 0, -1)) return -1;
    return real(path);
}
int unlinkat(int folder, const char* path, int flags) {
    REAL(int, "unlinkat", int, const char*, int);
    if (step(0, -1, NULL, 0, -1)) return -1;
    return real(folder, path, flags);
}
int rmdir(const char* path) {
    REAL(int, "rmdir", const char*);
    if (step(0, -1, NULL, 0, -1)) return -1;
    return real(path);
}
int fsync(int fd) {
    REAL(int, "fsync", int);
    if (step(0, -1, NULL, 0, -1)) return -1;
    return real(fd);
}
int fdatasync(int fd) {
    REAL(int, "fdatasync", int);
    if (step(0, -1, NULL, 0, -1)) return -1;
    return real(fd);
}
int ftruncate64(int fd, off_t size) {
    REAL(int, "ftruncate64", int, off_t);
    if (step(0, -1, NULL, 0, -1)) return -1;
    return real(fd, size);
}
