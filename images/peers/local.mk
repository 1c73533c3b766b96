# SPDX-License-Identifier: Apache-2.0
# may include: daemon/base daemon/content/crypto daemon/http images images/bundle images/import
#   images/registry images/store
images_libimages_a_SOURCES += \
    %D%/blob_fetch.cpp \
    %D%/blob_fetch.hpp \
    %D%/discovery.cpp \
    %D%/discovery.hpp \
    %D%/dns_sd.cpp \
    %D%/dns_sd.hpp \
    %D%/offers.cpp \
    %D%/offers.hpp \
    %D%/peer_client.cpp \
    %D%/peer_client.hpp \
    %D%/peers.cpp \
    %D%/peers.hpp \
    %D%/transfer.cpp \
    %D%/transfer.hpp
