/* SPDX-License-Identifier: BSD-3-Clause */
/* Grids: making them, finding one's way in them, parts of them, and MPI_Dims_create. */
#include <limits.h>
#include <mpi.h>

#include "tap.h"

static int rank, size;

#define REFUSED(call, code) tap_check((call) == (code), "%s: %s", #call, #code)

/* All processes in two dimensions, the first one a ring. */
static void check_plane(void)
{
    int dims[2] = {0, 0}, periods[2] = {7, 0}, got[2], ring[2], coords[2], status = -1, n = -1;
    int source, dest, again = -1;
    MPI_Comm cart, copy;
    MPI_Dims_create(size, 2, dims);
    tap_check(MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 1, &cart) == MPI_SUCCESS,
              "a plane of %d x %d", dims[0], dims[1]);
    MPI_Topo_test(cart, &status);
    MPI_Cartdim_get(cart, &n);
    tap_check(status == MPI_CART && n == 2, "it is a grid");
    MPI_Comm_dup(cart, &copy);
    MPI_Comm_free(&cart);
    MPI_Cart_get(copy, 2, got, ring, coords);
    tap_check(got[0] == dims[0] && got[1] == dims[1] && ring[0] == 1 && ring[1] == 0,
              "a duplicate has the topology");
    tap_check(coords[0] == rank / dims[1] && coords[1] == rank % dims[1], "our place");
    for (int i = 0; i < size; i++) {
        int there[2];
        MPI_Cart_coords(copy, i, 2, there);
        MPI_Cart_rank(copy, there, &again);
        if (!(there[0] == i / dims[1] && there[1] == i % dims[1] && again == i))
            tap_check(false, "rank %d is at %d, %d", i, there[0], there[1]);
    }
    int far[2] = {coords[0] - 5 * dims[0], coords[1]};
    MPI_Cart_rank(copy, far, &again);
    tap_check(again == rank, "coordinates of a ring go round");

    MPI_Cart_shift(copy, 0, 1, &source, &dest);
    tap_check(source == (coords[0] + dims[0] - 1) % dims[0] * dims[1] + coords[1] &&
                  dest == (coords[0] + 1) % dims[0] * dims[1] + coords[1],
              "a shift along the ring");
    MPI_Cart_shift(copy, 1, -1, &source, &dest);
    tap_check(source == (coords[1] + 1 < dims[1] ? rank + 1 : MPI_PROC_NULL) &&
                  dest == (coords[1] > 0 ? rank - 1 : MPI_PROC_NULL),
              "a shift that ends");
    MPI_Cart_shift(copy, 0, INT_MIN, &source, &dest);
    long steps = (long)INT_MIN % dims[0];
    tap_check(dest == (int)((coords[0] + steps + dims[0]) % dims[0]) * dims[1] + coords[1] &&
                  source == (int)((coords[0] - steps + dims[0]) % dims[0]) * dims[1] + coords[1],
              "a very long one");
    MPI_Cart_shift(copy, 1, 0, &source, &dest);
    tap_check(source == rank && dest == rank, "none at all");

    far[1] = dims[1];
    REFUSED(MPI_Cart_rank(copy, far, &again), MPI_ERR_ARG);
    REFUSED(MPI_Cart_coords(copy, 0, 1, coords), MPI_ERR_ARG);
    REFUSED(MPI_Cart_coords(copy, size, 2, coords), MPI_ERR_RANK);
    REFUSED(MPI_Cart_coords(copy, 0, 2, NULL), MPI_ERR_ARG);
    REFUSED(MPI_Cart_get(copy, 1, got, ring, coords), MPI_ERR_ARG);
    REFUSED(MPI_Cart_shift(copy, 2, 1, &source, &dest), MPI_ERR_DIMS);
    REFUSED(MPI_Cart_shift(copy, -1, 1, &source, &dest), MPI_ERR_DIMS);
    REFUSED(MPI_Graphdims_get(copy, &n, &again), MPI_ERR_TOPOLOGY);
    MPI_Comm_free(&copy);
}

/* Rows and columns, each of which talks along itself. */
static void check_sub(void)
{
    int dims[3] = {0, 0, 0}, periods[3] = {1, 0, 1}, coords[3], got[3], ring[3], place[3], n;
    MPI_Comm cart, sub;
    MPI_Dims_create(size, 3, dims);
    MPI_Cart_create(MPI_COMM_WORLD, 3, dims, periods, 0, &cart);
    MPI_Cart_coords(cart, rank, 3, coords);
    for (int mask = 0; mask < 8; mask++) {
        int remain[3] = {mask & 1, mask >> 1 & 1, mask >> 2}, kept = 0, own, count, product = 1;
        bool right = true;
        MPI_Cart_sub(cart, remain, &sub);
        MPI_Cartdim_get(sub, &n);
        MPI_Cart_get(sub, n, got, ring, place);
        for (int i = 0; i < 3; i++) {
            if (!remain[i])
                continue;
            right &= got[kept] == dims[i] && ring[kept] == periods[i] && place[kept] == coords[i];
            product *= dims[i];
            kept++;
        }
        MPI_Comm_rank(sub, &own);
        MPI_Comm_size(sub, &count);
        tap_check(right && n == kept && count == product, "part %d of %d dimensions", mask, kept);
        /* Who stands next to us in the part stands there in the grid too. */
        int there = rank, got_rank = -1;
        MPI_Sendrecv(&there, 1, MPI_INT, (own + 1) % count, 0, &got_rank, 1, MPI_INT,
                     (own + count - 1) % count, 0, sub, MPI_STATUS_IGNORE);
        MPI_Cart_coords(cart, got_rank, 3, got);
        right = true;
        for (int i = 0; i < 3; i++)
            right &= remain[i] || got[i] == coords[i];
        tap_check(right, "its processes differ only there");
        MPI_Comm_free(&sub);
    }
    MPI_Comm_free(&cart);
}

static void check_small(void)
{
    int dims[1] = {1}, periods[1] = {1}, own = -1, count = -1, n = -1, place[1] = {-1};
    int source, dest;
    MPI_Comm cart, sub;
    MPI_Cart_create(MPI_COMM_WORLD, 0, NULL, NULL, 0, &cart);
    tap_check((cart != MPI_COMM_NULL) == (rank == 0), "no dimensions: one process");
    if (rank == 0) {
        MPI_Cartdim_get(cart, &n);
        MPI_Comm_size(cart, &count);
        tap_check(n == 0 && count == 1, "a point");
        tap_check(MPI_Cart_get(cart, 0, NULL, NULL, NULL) == MPI_SUCCESS &&
                      MPI_Cart_coords(cart, 0, 0, NULL) == MPI_SUCCESS &&
                      MPI_Cart_rank(cart, NULL, &own) == MPI_SUCCESS && own == 0,
                  "without coordinates");
        MPI_Cart_sub(cart, NULL, &sub);
        MPI_Cartdim_get(sub, &n);
        tap_check(n == 0, "a part of a point");
        MPI_Comm_free(&sub);
        MPI_Comm_free(&cart);
    }
    MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, 0, &cart);
    tap_check((cart != MPI_COMM_NULL) == (rank == 0), "who is left out gets MPI_COMM_NULL");
    if (rank == 0) {
        MPI_Cart_coords(cart, 0, 1, place);
        MPI_Cart_shift(cart, 0, 1, &source, &dest);
        tap_check(place[0] == 0 && source == 0 && dest == 0, "a ring of one");
        MPI_Comm_free(&cart);
    }
    int status = -1;
    MPI_Topo_test(MPI_COMM_WORLD, &status);
    tap_check(status == MPI_UNDEFINED, "the world has no topology");
    dims[0] = size;
    MPI_Cart_map(MPI_COMM_WORLD, 1, dims, periods, &own);
    tap_check(own == rank, "MPI_Cart_map");
    dims[0] = 1;
    MPI_Cart_map(MPI_COMM_WORLD, 1, dims, periods, &own);
    tap_check(own == (rank == 0 ? 0 : MPI_UNDEFINED), "MPI_Cart_map of a small grid");
}

static void check_errors(void)
{
    int dims[2] = {size, 2}, none[2] = {0, 1}, periods[2] = {0, 0}, n;
    MPI_Comm cart;
    REFUSED(MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &cart), MPI_ERR_DIMS);
    REFUSED(MPI_Cart_create(MPI_COMM_WORLD, 2, none, periods, 0, &cart), MPI_ERR_DIMS);
    REFUSED(MPI_Cart_create(MPI_COMM_WORLD, -1, dims, periods, 0, &cart), MPI_ERR_ARG);
    REFUSED(MPI_Cart_create(MPI_COMM_WORLD, 1, NULL, periods, 0, &cart), MPI_ERR_ARG);
    REFUSED(MPI_Cart_map(MPI_COMM_WORLD, 2, dims, periods, &n), MPI_ERR_DIMS);
    REFUSED(MPI_Cartdim_get(MPI_COMM_WORLD, &n), MPI_ERR_TOPOLOGY);
    REFUSED(MPI_Cart_rank(MPI_COMM_WORLD, dims, &n), MPI_ERR_TOPOLOGY);
    if (size > 1) { /* the ranks give different grids */
        int class, mine[1] = {rank == 0 ? size : size - 1};
        if (size == 2 || rank < size - 1) {
            mine[0] = size;
            periods[0] = rank == 0;
        } else {
            mine[0] = size;
        }
        MPI_Error_class(MPI_Cart_create(MPI_COMM_WORLD, 1, mine, periods, 0, &cart), &class);
        tap_check(class == MPI_ERR_ARG, "different grids on different ranks are refused: %d",
                  class);
    }
}

static void check_dims(void)
{
    int a[2] = {0, 0}, b[3] = {0, 3, 0}, c[3] = {0, 0, 0}, d[1] = {0}, e[2] = {4, 0};
    MPI_Dims_create(12, 2, a);
    tap_check(a[0] == 4 && a[1] == 3, "12 = 4 x 3");
    MPI_Dims_create(12, 3, b);
    tap_check(b[0] == 2 && b[1] == 3 && b[2] == 2, "12 = 2 x (3) x 2");
    MPI_Dims_create(7, 3, c);
    tap_check(c[0] == 7 && c[1] == 1 && c[2] == 1, "7 = 7 x 1 x 1");
    MPI_Dims_create(1, 1, d);
    tap_check(d[0] == 1, "1 = 1");
    REFUSED(MPI_Dims_create(10, 2, e), MPI_ERR_DIMS);
    e[0] = -1;
    REFUSED(MPI_Dims_create(10, 2, e), MPI_ERR_DIMS);
    REFUSED(MPI_Dims_create(0, 2, a), MPI_ERR_ARG);
    REFUSED(MPI_Dims_create(4, 2, NULL), MPI_ERR_ARG);
    e[0] = 5;
    e[1] = 2;
    tap_check(MPI_Dims_create(10, 2, e) == MPI_SUCCESS && e[0] == 5 && e[1] == 2, "all given");
    REFUSED(MPI_Dims_create(20, 2, e), MPI_ERR_DIMS);
    tap_check(MPI_Dims_create(1, 0, NULL) == MPI_SUCCESS, "no dimensions");
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    tap_rank(rank);
    check_plane();
    check_sub();
    check_small();
    check_errors();
    check_dims();
    MPI_Finalize();
    return tap_finish();
}
