# SPDX-License-Identifier: Apache-2.0
# may include: daemon/base daemon/content/crypto images/bundle images/create images/store
images_libimages_a_SOURCES += \
    %D%/answer.cpp \
    %D%/answer.hpp \
    %D%/client_certificate.cpp \
    %D%/client_certificate.hpp \
    %D%/metrics.cpp \
    %D%/metrics.hpp \
    %D%/peer_service.cpp \
    %D%/peer_service.hpp \
    %D%/registry.cpp \
    %D%/registry.hpp \
    %D%/request.cpp \
    %D%/request.hpp \
    %D%/server.cpp \
    %D%/server.hpp \
    %D%/service.hpp \
    %D%/tls_keys.cpp \
    %D%/tls_keys.hpp
