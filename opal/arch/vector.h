/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Loops that the compiler makes vector code of, for the widest vectors that the machine has.
 *
 *   OPAL_VECTOR_LOOPS static void add(...)
 *   {
 *       OPAL_INDEPENDENT
 *       for (...)
 *
 * The function is compiled once for the oldest machine and once for newer ones, and the loader
 * chooses (an indirect function). In cache, AVX2 is twice as fast as what every x86-64 has, and
 * AVX-512 half as much again.
 */
#ifndef OPAL_ARCH_VECTOR_H
#define OPAL_ARCH_VECTOR_H

/* The loader would run code of the thread sanitizer that is not ready yet. */
#if defined(__SANITIZE_THREAD__)
#define OPAL_WITHOUT_CLONES 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define OPAL_WITHOUT_CLONES 1
#endif
#endif

#if !defined(__x86_64__) || !defined(__gnu_linux__) || defined(OPAL_WITHOUT_CLONES)
#define OPAL_CLONES
#elif defined(__clang__)
#define OPAL_CLONES __attribute__((target_clones("default", "avx2", "avx512vl")))
#else
#define OPAL_CLONES __attribute__((target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4")))
#endif

/* No iteration reads what another one writes: a store may hit only what the same one loads. */
#ifdef __clang__
#define OPAL_VECTOR_LOOPS OPAL_CLONES
#define OPAL_INDEPENDENT  _Pragma("clang loop vectorize(assume_safety)")
#else
#define OPAL_VECTOR_LOOPS OPAL_CLONES __attribute__((optimize("O3", "unroll-loops")))
#define OPAL_INDEPENDENT  _Pragma("GCC ivdep")
#endif

#endif
