module github.com/Azure/azure-sdk-for-go/sdk/azidentity

go 1.26.0
