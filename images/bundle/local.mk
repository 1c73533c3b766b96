# SPDX-License-Identifier: Apache-2.0
# may include: daemon/base daemon/content/crypto daemon/core
images_libimages_a_SOURCES += \
    %D%/block_device.cpp \
    %D%/block_device.hpp \
    %D%/distribution.cpp \
    %D%/distribution.hpp \
    %D%/host_facts.cpp \
    %D%/host_facts.hpp \
    %D%/input.cpp \
    %D%/input.hpp \
    %D%/items.cpp \
    %D%/items.hpp \
    %D%/layout.cpp \
    %D%/layout.hpp \
    %D%/manifest.cpp \
    %D%/manifest.hpp \
    %D%/oci.cpp \
    %D%/oci.hpp \
    %D%/plain_file.cpp \
    %D%/plain_file.hpp \
    %D%/reader.cpp \
    %D%/reader.hpp \
    %D%/reference.cpp \
    %D%/reference.hpp \
    %D%/signed_manifest.cpp \
    %D%/signed_manifest.hpp \
    %D%/spec.cpp \
    %D%/spec.hpp \
    %D%/trust.cpp \
    %D%/trust.hpp \
    %D%/writer.cpp \
    %D%/writer.hpp
