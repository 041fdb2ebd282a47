from unrolled.commands.import_weights import main

if __name__ == "__main__":
    main()
