/* SPDX-License-Identifier: BSD-3-Clause */
/* Labels of messages: writing, comparing. */
#include "ompi/check/label.h"

#include "ompi/check/check.h"
#include "ompi/check/finding.h"

ompi_check_label_t ompi_check_label_of(const ompi_datatype_t *type, size_t count)
{
    const ompi_shape_t *shape = &type->shape;
    size_t bytes = ompi_datatype_bytes(type, count);
    return (ompi_check_label_t){
        .mark = OMPI_CHECK_LABEL_MARK,
        .type = shape->element != NULL && bytes > 0
                    ? (uint16_t)(uintptr_t)shape->element->head.handle
                    : 0,
        .elements = (uint64_t)ompi_datatype_elements(type) * count,
        .bytes = bytes,
        .hash = ompi_signature_hash(shape->signature, count),
    };
}

static bool is_bytes(unsigned type)
{
    return type == (uintptr_t)MPI_BYTE || type == (uintptr_t)MPI_PACKED;
}

static bool agrees(const ompi_check_label_t *sent, const ompi_check_label_t *awaited,
                   const ompi_signature_t *signature)
{
    if (sent->bytes == 0 || awaited->bytes == 0 || is_bytes(sent->type) || is_bytes(awaited->type))
        return true;
    if (sent->type != 0 && awaited->type != 0)
        return ompi_check_types_agree(sent->type, awaited->type);
    return sent->hash == ompi_signature_prefix_hash(signature, sent->elements);
}

int ompi_check_label_compare(const ompi_check_label_t *label, const ompi_datatype_t *type,
                             size_t count, ompi_communicator_t *comm, int source, int tag)
{
    char sent[OMPI_CHECK_DATA_BYTES], room[OMPI_CHECK_DATA_BYTES];
    ompi_check_label_t awaited = ompi_check_label_of(type, count);
    if (agrees(label, &awaited, type->shape.signature))
        return MPI_SUCCESS;
    ompi_check_describe_data(label->type, label->elements, label->bytes, sent);
    ompi_check_describe_data(awaited.type, awaited.elements, awaited.bytes, room);
    return ompi_check_find(MPI_ERR_TYPE, &comm->head,
                           "The datatypes of a message differ: rank %d has sent %s with tag %d, "
                           "and the receive of rank %d is of %s.",
                           source, sent, tag, comm->rank, room);
}
